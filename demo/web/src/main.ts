import './style.css';
import * as et from 'etude-ml';
import { Curves } from './curves';
import { Samples, side } from './fashion';
import { Gallery, guessOf } from './gallery';
import { isolated } from './isolation';
import { makeModel, train } from './model';
import source from './model.ts?raw';
import { Pauses } from './pauses';
import { Progress } from './progress';

// ?samples=6000&epochs=2 shortens the training.
const asked = new URLSearchParams(location.search);
const epochs = Number(asked.get('epochs') ?? 5);
const samples = Number(asked.get('samples') ?? 60000);
const batchSize = 128;
const enough = 4500; // images before the first epoch: 2 MB

const get = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;
const button = {
  train: get<HTMLButtonElement>('train'),
  stop: get<HTMLButtonElement>('stop'),
  others: get<HTMLButtonElement>('others'),
  mistakes: get<HTMLButtonElement>('mistakes'),
};
const say = (id: string, text: string) => (get(id).textContent = text);
const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
const milliseconds = (time: number) => `${Math.round(time)} ms`;

const curves = {
  loss: new Curves(get('loss'), (value) => value.toFixed(2), (_lowest, highest) => [0, Math.ceil(5 * highest) / 5]),
  accuracy: new Curves(get('acc'), (value) => `${Math.round(100 * value)}%`, (lowest) => [Math.floor(10 * lowest) / 10, 1]),
};
const pauses = new Pauses();
say('code', source);

function enter(state: 'loading' | 'ready' | 'training' | 'failed', status: string) {
  document.body.dataset.state = state;
  say('status', status);
  button.train.disabled = state !== 'ready';
  button.stop.disabled = true; // except while fit runs, which resets stopTraining when it begins
}

function fail(error: unknown) {
  console.error(error);
  enter('failed', String(error));
}

/** Lets the page draw a frame. */
const turn = () => new Promise((done) => setTimeout(done));

/** Trains a new model, to the end or until Stop, and returns it. */
async function lesson(trainSet: Samples, testSet: Samples) {
  await turn(); // one task each: the click, the model, its weights, the first step
  const model = makeModel();
  await turn();
  model.build([batchSize, side, side]);
  await turn();
  const steps = Math.ceil(samples / batchSize);
  const progress = new Progress({ samples, batchSize, stepsPerPoint: Math.max(1, Math.round(steps / 40)) }, {
    step(step, where) {
      say('where', `epoch ${Math.ceil(where)} of ${epochs} · step ${step + 1} of ${steps}`);
      get<HTMLProgressElement>('progress').value = where / epochs;
      say('rate', Math.round(progress.rate).toLocaleString('en'));
      say('seconds', `${progress.seconds.toFixed(1)} s`);
      say('pause', milliseconds(pauses.longestGap));
    },
    point(where, loss, accuracy) {
      curves.loss.add('training', where, loss);
      curves.accuracy.add('training', where, accuracy);
    },
    epoch(where, logs) {
      curves.loss.add('validation', where, logs.val_loss!);
      curves.accuracy.add('validation', where, logs.val_accuracy!);
      say('accuracy', percent(logs.val_accuracy!));
    },
  });

  button.stop.onclick = () => {
    model.stopTraining = true;
    say('status', 'Stopping…');
  };
  const stoppable = { onTrainBegin: () => void (button.stop.disabled = false), onTrainEnd: () => void (button.stop.disabled = true) };
  for (const curve of Object.values(curves)) curve.clear(epochs);
  pauses.start();
  await train(model, trainSet, testSet, batchSize, { epochs, verbose: 0, callbacks: [progress, stoppable] });
  pauses.stop();
  say('pauses', `The training loop returned control to the page every 16 ms. Longest gap between two frames: ${milliseconds(pauses.longestGap)}; ` +
    `longest task: ${pauses.longestTask ? milliseconds(pauses.longestTask) : 'below 50 ms'}.`);
  return model;
}

/** Shows the number of loaded images, until all are loaded. */
function showArrival(trainSet: Samples) {
  const { arrived, count } = trainSet;
  const images = (number: number) => number.toLocaleString('en');
  if (document.body.dataset.state === 'loading') {
    say('status', `Fetching images: ${images(arrived)} of ${images(count)}…`);
    get<HTMLProgressElement>('progress').value = arrived / Math.min(enough, count);
  }
  say('arrived', arrived < count ? `${images(arrived)} of ${images(count)} images are loaded; the others follow.` : '');
}

async function main() {
  if (!(await isolated())) return;
  await et.ready({ parts: ['data'] });
  const trainSet = await Samples.open('train', samples);
  trainSet.onArrival = () => showArrival(trainSet);
  await trainSet.until(enough);
  const testSet = await Samples.open('t10k'); // after the first images, with which it would share the connection
  const { labels } = testSet;
  let gallery: Gallery | undefined;
  let probabilities: Float32Array | undefined;

  const choose = () => {
    const mistakes = button.mistakes.ariaPressed === 'true';
    gallery?.choose(probabilities, mistakes && probabilities ? (image) => guessOf(probabilities!, image) !== labels[image] : undefined);
  };
  button.others.onclick = choose;
  button.mistakes.onclick = () => {
    button.mistakes.ariaPressed = String(button.mistakes.ariaPressed !== 'true');
    choose();
  };
  button.train.onclick = () => teach().catch(fail);

  async function teach() {
    enter('training', 'Training…');
    const model = await lesson(trainSet, testSet);
    await testSet.until(testSet.count);
    const images = et.tensor(testSet.images, [testSet.count, side, side]);
    probabilities = (await model.predict(images, { batchSize, verbose: 0 })).data as Float32Array;
    let right = 0;
    for (let image = 0; image < labels.length; ++image) right += Number(guessOf(probabilities, image) === labels[image]);
    say('verdict', `${right.toLocaleString('en')} of ${labels.length.toLocaleString('en')} held-out images named correctly.`);
    button.others.disabled = button.mistakes.disabled = false;
    choose();
    enter('ready', model.stopTraining ? 'Stopped. The model is as good as it got.' : 'Trained.');
  }
  get<HTMLProgressElement>('progress').value = 0;
  enter('ready', 'Ready.');
  await testSet.until(testSet.count);
  gallery = new Gallery(get('gallery'), testSet.images, labels);
}

main().catch(fail);
