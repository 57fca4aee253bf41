/* A browser starts no worker for a page that is read from disk. There the search runs in a hidden frame instead. */
if (location.protocol === "file:" && typeof Worker !== "undefined") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      this.queue = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      const answer = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.inside.postMessage = (data) => setTimeout(() => answer(data));
      this.inside.importScripts = (...more) =>
        more.reduce((before, one) => before.then(() => this.load(one)), Promise.resolve());
      this.load(script).then(() => {
        this.ready = true;
        this.queue.splice(0).forEach((data) => this.postMessage(data));
      });
    }
    load(script) {
      return new Promise((done, failed) => {
        const element = this.inside.document.createElement("script");
        element.src = script;
        element.onload = done;
        element.onerror = failed;
        this.inside.document.head.appendChild(element);
      });
    }
    postMessage(data) {
      if (!this.ready) this.queue.push(data);
      else this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() {}
  };
}
