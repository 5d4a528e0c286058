// Times steps: some to warm up, then as many as fit into `seconds` of CPU time. Every target prints the result of
// `summary`.
const fewest = { warmup: 2, measured: 6 };

export class Clock {
  #seconds;
  #warmup = 0;
  #ticks = [];
  #began = performance.now();
  #cpu;
  #cpuSeconds;
  #losses = {};
  #steps = 0;

  constructor(seconds) {
    this.#seconds = seconds;
  }

  /** Call it after every step; true after enough measurements. */
  tick() {
    const now = performance.now();
    if (!this.#cpu) {
      if (++this.#warmup < fewest.warmup || now - this.#began < 100 * this.#seconds) return false;
      this.#cpu = process.cpuUsage();
    }
    this.#ticks.push(now);
    if (this.#ticks.length <= fewest.measured || now - this.#ticks[0] < 1000 * this.#seconds) return false;
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#cpuSeconds = (user + system) / 1e6;
    return this.#cpuSeconds >= this.#seconds;
  }

  /** Records the epoch's mean loss at steps 8, 16, 32, …, counted from 1, for comparing targets. */
  note(meanLoss) {
    if (isCheckpoint(++this.#steps)) this.#losses[this.#steps] = round(meanLoss());
  }

  summary(batch) {
    const steps = this.#ticks.length - 1;
    const times = Float64Array.from({ length: steps }, (_, i) => this.#ticks[i + 1] - this.#ticks[i]).sort();
    const quantile = (q) => round(times[Math.floor(q * (steps - 1))]);
    return {
      steps,
      samples_per_s: round((1000 * batch) / quantile(0.5)),
      step_ms_median: quantile(0.5),
      step_ms_p10: quantile(0.1),
      step_ms_p95: quantile(0.95),
      cpu_ms_per_step: round((1000 * this.#cpuSeconds) / steps),
      losses: this.#losses,
    };
  }
}

const isCheckpoint = (step) => step >= 8 && (step & (step - 1)) === 0;
const round = (value) => Number(value.toPrecision(5));

/** The mean loss of the epoch so far. */
export class EpochMean {
  #sum = 0;
  #steps = 0;

  constructor(stepsPerEpoch) {
    this.stepsPerEpoch = stepsPerEpoch;
  }
  add(loss) {
    if (this.#steps === this.stepsPerEpoch) this.#sum = this.#steps = 0;
    this.#sum += loss;
    this.#steps += 1;
  }
  get value() {
    return this.#sum / this.#steps;
  }
}
