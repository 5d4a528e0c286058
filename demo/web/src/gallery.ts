import { classNames, side } from './fashion';

const cards = 24;

/** Images as cards, with the model's classification. */
export class Gallery {
  private shown: number[] = [];

  constructor(private readonly list: HTMLElement, private readonly pixels: ArrayLike<number>, private readonly labels: ArrayLike<number>) {
    this.choose();
  }

  /** Picks `cards` random images of the given ones, and shows them with the probabilities of all classes, if known. */
  choose(probabilities?: Float32Array, wanted: (image: number) => boolean = () => true) {
    const candidates = Array.from({ length: this.labels.length }, (_, image) => image).filter(wanted);
    this.shown = [];
    while (this.shown.length < cards && candidates.length) {
      const [image] = candidates.splice(Math.floor(Math.random() * candidates.length), 1);
      this.shown.push(image!);
    }
    this.show(probabilities);
  }

  show(probabilities?: Float32Array) {
    this.list.replaceChildren(...this.shown.map((image) => this.card(image, probabilities)));
  }

  private card(image: number, probabilities?: Float32Array) {
    const card = document.createElement('li');
    const truth = classNames[this.labels[image]!]!;
    card.append(this.thumbnail(image, truth));
    if (probabilities) {
      const guess = guessOf(probabilities, image);
      const right = guess === this.labels[image];
      card.className = right ? 'right' : 'wrong';
      card.append(line('guess', `${right ? '✓' : '✗'} ${classNames[guess]}`));
      const percent = `${Math.round(100 * probabilities[image * classNames.length + guess]!)}%`;
      card.append(line('truth', right ? percent : `${percent} · is ${truth}`));
    } else {
      card.append(line('guess', truth), line('truth', 'not classified yet'));
    }
    return card;
  }

  private thumbnail(image: number, truth: string) {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = side;
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', `test image ${image}: ${truth}`);
    const context = canvas.getContext('2d')!;
    const drawing = context.createImageData(side, side);
    // Black on transparent; a dark page inverts it.
    for (let i = 0; i < side * side; ++i) drawing.data[4 * i + 3] = this.pixels[image * side * side + i]!;
    context.putImageData(drawing, 0, 0);
    const frame = document.createElement('div');
    frame.append(canvas);
    return frame;
  }
}

/** The most probable class of an image. */
export function guessOf(probabilities: Float32Array, image: number) {
  const ofImage = probabilities.subarray(image * classNames.length, (image + 1) * classNames.length);
  return ofImage.indexOf(Math.max(...ofImage));
}

function line(className: string, text: string) {
  const element = document.createElement('span');
  element.className = className;
  element.textContent = text;
  return element;
}
