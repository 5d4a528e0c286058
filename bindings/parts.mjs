// The parts of the module, which a page fetches when it needs them. A part is what only its doors reach: calls that
// bindings/ registers in a block of EMSCRIPTEN_BINDINGS, classes of the tables, and functions that are called by address.
export const parts = {
  data: { bindings: ['data', 'utils'], classes: [], functions: ['of_dataset', 'of_creator'] },
  saving: { bindings: ['saving'], classes: ['ModelCheckpoint', 'BackupAndRestore'], functions: ['layer_of_web_as_json', 'layer_of_web_from_json'] },
  callbacks: { bindings: ['operational_metrics'], classes: ['CSVLogger', 'RemoteMonitor', 'TensorBoard', 'OperationalMetrics', 'SwapEMAWeights'], functions: [] },
  preprocessing: {
    bindings: ['text'],
    classes: [
      'Normalization', 'Discretization', 'CategoryEncoding', 'IntegerLookup', 'StringLookup', 'TextVectorization', 'Hashing', 'HashedCrossing', 'Resizing', 'CenterCrop', 'AutoContrast', 'Equalization',
      'RandomFlip', 'RandomCrop', 'RandomTranslation', 'RandomZoom', 'RandomRotation', 'RandomShear', 'RandomPerspective', 'RandAugment', 'RandomColorDegeneration', 'Pipeline', 'RandomBrightness',
      'RandomContrast', 'RandomHue', 'RandomSaturation', 'RandomSharpness', 'RandomPosterization', 'RandomInvert', 'RandomGrayscale',
      'RandomColorJitter', 'RandomGaussianBlur', 'Solarization', 'RandomErasing', 'MixUp', 'CutMix',
    ],
    functions: [],
  },
  extras: {
    bindings: [],
    classes: [
      'AdaptiveAveragePooling1D', 'AdaptiveAveragePooling2D', 'AdaptiveAveragePooling3D', 'AdaptiveMaxPooling1D', 'AdaptiveMaxPooling2D',
      'AdaptiveMaxPooling3D', 'ConvLSTM1D', 'ConvLSTM2D', 'ConvLSTM3D', 'LocallyConnected1D', 'LocallyConnected2D', 'SpectralNormalization',
      'MelSpectrogram', 'STFTSpectrogram',
      'Circle', 'CTC', 'Adafactor', 'MultiOptimizer', 'ScheduleFreeAdamW', 'LinearCosineDecay', 'NoisyLinearCosineDecay', 'STFT',
      'RadialConstraint',
    ],
    functions: [],
  },
};
