(function () {
  "use strict";
  // What no page can know of itself: the folder it lies in, and the day its run ended. A folder that crda-run named
  // starts with that day; of another the file's own date is shown.
  var folder = decodeURIComponent(location.pathname).split("/").slice(0, -1).join("/");
  var day = /\/(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})\d{2}-[0-9a-f]{6}$/.exec(folder);
  var made = document.getElementById("made"), check = document.getElementById("check");
  if (made && location.protocol === "file:") {
    made.textContent = day ? day[1] + "-" + day[2] + "-" + day[3] + " " + day[4] + ":" + day[5] + " UTC"
      : document.lastModified.replace(/^(\d+)\/(\d+)\/(\d+) (\d+:\d+).*$/, "$3-$1-$2 $4") + " (of this file)";
    check.textContent = "crda-spec verify " + (/^[\w.\/:-]+$/.test(folder) ? folder : "'" + folder.replace(/'/g, "'\\''") + "'");
  }
  function unfold() {
    var there = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (var at = there; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (there && there.closest("details")) there.scrollIntoView();
  }
  window.addEventListener("hashchange", unfold);
  unfold();
  var graph = document.querySelector("svg.crda-graph"), panel = document.getElementById("asked");
  if (!graph || !panel) return;
  var nodes = Array.from(graph.querySelectorAll("[data-node]"));
  var links = Array.from(graph.querySelectorAll("[data-link]"));
  var greeting = Array.from(panel.childNodes), shown = null;
  panel.hidden = false;
  // A <title> would open a second box of words beside the panel.
  nodes.forEach(function (node) { node.querySelectorAll("title").forEach(function (title) { title.remove(); }); });

  function numbers(node, key) {
    return (node.getAttribute(key) || "").split(" ").filter(Boolean).map(Number);
  }
  function paragraph(children) {
    var made = document.createElement("p");
    children.forEach(function (child) { made.append(child); });
    return made;
  }
  // Clones of what the page already shows: no text is ever read as markup.
  function told(node) {
    var row = node.hasAttribute("href") && document.getElementById(node.getAttribute("href").slice(1));
    if (!row) return [paragraph([node.getAttribute("aria-label")])];
    var name = document.createElement("strong"), cells = row.children;
    Array.from(cells[0].childNodes).forEach(function (child) { name.append(child.cloneNode(true)); });
    var head = [name].concat(Array.from(cells[1].childNodes).map(function (child) { return child.cloneNode(true); }));
    var why = Array.from(cells[cells.length - 1].childNodes).map(function (child) { return child.cloneNode(true); });
    return [paragraph(head), paragraph(why)];
  }
  function clear() {
    shown = null;
    graph.classList.remove("asking");
    graph.querySelectorAll(".lit").forEach(function (part) { part.classList.remove("lit"); });
    panel.classList.remove("away", "upper");
    panel.replaceChildren.apply(panel, greeting);
  }
  function show(node) {
    if (node === shown) return;
    clear();
    shown = node;
    graph.classList.add("asking");
    node.classList.add("lit");
    numbers(node, "data-links").forEach(function (index) { links[index].classList.add("lit"); });
    numbers(node, "data-near").forEach(function (index) { nodes[index].classList.add("lit"); });
    panel.replaceChildren.apply(panel, told(node));
    place(node);
  }
  // Below the graph, where it belongs; at the foot of the window when that place is out of sight, and at its head,
  // over headings, only where it would cover the box itself.
  function place(node) {
    panel.classList.remove("away", "upper");
    if (panel.getBoundingClientRect().bottom <= window.innerHeight) return;
    var box = node.getBoundingClientRect();
    panel.classList.add("away");
    panel.classList.toggle("upper", box.bottom + 4 > panel.getBoundingClientRect().top);
  }
  function asked(event) { return event.target.closest ? event.target.closest("[data-node]") : null; }
  graph.addEventListener("pointerover", function (event) { if (asked(event)) show(asked(event)); });
  graph.addEventListener("pointerleave", function () { if (!graph.contains(document.activeElement)) clear(); });
  graph.addEventListener("focusin", function (event) { if (asked(event)) show(asked(event)); });
  graph.addEventListener("focusout", function (event) { if (!graph.contains(event.relatedTarget)) clear(); });
  graph.addEventListener("keydown", function (event) {
    var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], at = nodes.indexOf(asked(event));
    if (event.key === "Escape") clear();
    if (!step || at < 0) return;
    event.preventDefault();
    nodes[(at + step + nodes.length) % nodes.length].focus();
  });
})();
