// Times training steps: the first `warmup` ones are thrown away, the rest are the steady state.
export class Clock {
  constructor(warmup, steps) {
    this.warmup = warmup;
    this.ticks = new Float64Array(steps + 1);
    this.seen = 0;
  }

  /** Call after every step. */
  tick() {
    const index = ++this.seen - this.warmup;
    if (index < 0 || index >= this.ticks.length) return;
    if (index === 0) this.cpuAtStart = process.cpuUsage();
    this.ticks[index] = performance.now();
    if (index === this.ticks.length - 1) this.cpu = process.cpuUsage(this.cpuAtStart);
  }

  /** The measured half of a benchmark line. */
  summary(batch) {
    if (!this.cpu) throw new Error(`measured ${this.seen} steps, planned ${this.warmup + this.ticks.length - 1}`);
    const steps = this.ticks.length - 1;
    const times = Float64Array.from({ length: steps }, (_, i) => this.ticks[i + 1] - this.ticks[i]).sort();
    const quantile = (q) => times[Math.min(steps - 1, Math.ceil(q * steps) - 1)];
    return {
      samples_per_s: round((steps * batch * 1000) / (this.ticks[steps] - this.ticks[0])),
      step_ms_median: round(quantile(0.5)),
      step_ms_p95: round(quantile(0.95)),
      cpu_ms_per_step: round((this.cpu.user + this.cpu.system) / 1000 / steps),
    };
  }
}

const round = (value) => Number(value.toPrecision(5));
