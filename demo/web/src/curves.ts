import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

type Points = (number | null)[];

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The curves of one quantity over the epochs, in a <figure> with a place to draw and an <output> for each curve's value. */
export class Curves {
  private x: number[] = [];
  private readonly y: { training: Points; validation: Points } = { training: [], validation: [] };
  private readonly outputs: { training: HTMLOutputElement; validation: HTMLOutputElement };
  private plot?: uPlot;
  private epochs = 1;

  constructor(
    private readonly figure: HTMLElement,
    private readonly format: (value: number) => string,
    private readonly range: (lowest: number, highest: number) => [number, number],
  ) {
    this.outputs = { training: figure.querySelector('output.training')!, validation: figure.querySelector('output.validation')! };
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(this.place);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    this.clear(1);
  }

  clear(epochs: number) {
    this.epochs = epochs;
    this.x = [];
    this.y.training = [];
    this.y.validation = [];
    this.draw();
  }

  /** A point at `x` epochs; points come from left to right. */
  add(curve: 'training' | 'validation', x: number, value: number) {
    if (this.x.at(-1) !== x) {
      this.x.push(x);
      this.y.training.push(null);
      this.y.validation.push(null);
    }
    this.y[curve][this.x.length - 1] = value;
    this.figure.dataset.points = String(this.x.length);
    this.plot?.setData(this.data());
    this.label(null);
  }

  private get place() {
    return this.figure.querySelector<HTMLElement>('.plot')!;
  }
  private size() {
    return { width: this.place.clientWidth, height: this.place.clientHeight };
  }
  private data(): uPlot.AlignedData {
    return [this.x, this.y.training, this.y.validation];
  }

  private draw() {
    this.plot?.destroy();
    const grid = { stroke: css('--line'), width: 1 };
    const axis = { stroke: css('--muted'), font: `12px ${css('--text-font')}`, grid, ticks: { show: false } };
    const epochs = this.epochs;
    this.plot = new uPlot({
      ...this.size(),
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, range: () => [0, epochs] },
        y: { range: (_, lowest, highest) => this.range(lowest ?? 0, highest ?? 1) },
      },
      axes: [
        { ...axis, size: 28, splits: () => Array.from({ length: epochs + 1 }, (_, i) => i), grid: { show: false } },
        { ...axis, size: 48, values: (_, ticks) => ticks.map(this.format) },
      ],
      series: [
        {},
        { stroke: css('--training'), width: 1.75, spanGaps: true, points: { show: false } },
        { stroke: css('--validation'), width: 1.75, spanGaps: true, points: { show: true, size: 8, fill: css('--validation') } },
      ],
      hooks: { setCursor: [({ cursor }) => this.label(cursor.idx ?? null)] },
    }, this.data(), this.place);
    this.label(null);
  }

  /** Shows the values at a point, or the latest ones. */
  private label(index: number | null) {
    for (const curve of ['training', 'validation'] as const) {
      const value = this.y[curve].slice(0, (index ?? this.x.length) + 1).findLast((y) => y !== null);
      this.outputs[curve].textContent = value == null ? '–' : this.format(value);
    }
  }
}
