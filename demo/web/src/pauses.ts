/** The longest time without reaction: the longest gap between two animation frames, and the longest task of the main thread. */
export class Pauses {
  longestGap = 0;
  longestTask = 0;
  private running = false;
  private readonly observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) this.longestTask = Math.max(this.longestTask, duration);
  });

  start() {
    this.longestGap = this.longestTask = 0;
    this.running = true;
    if (PerformanceObserver.supportedEntryTypes.includes('longtask')) this.observer.observe({ type: 'longtask' });
    let last = performance.now();
    const frame = () => {
      if (!this.running) return;
      const now = performance.now();
      if (!document.hidden) this.longestGap = Math.max(this.longestGap, now - last); // a hidden page gets no frames
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  stop() {
    this.running = false;
    this.observer.disconnect();
  }
}
