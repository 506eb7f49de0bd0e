// SPDX-License-Identifier: Apache-2.0
// The search of the site runs in a worker, which browsers refuse to pages of a disk (file://). There it runs in a hidden frame instead.
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.early = [];
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = url;
      script.onload = () => {
        this.early.forEach((data) => this.give(data));
        this.early = null;
      };
      inside.document.head.append(script);
    }
    give(data) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
    postMessage(data) {
      if (this.early) this.early.push(data);
      else this.give(data);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
