// The parts of the module, which a page fetches when it needs them. A part has the code that only its entry points
// reach. Entry points are calls that bindings/ registers in a block of EMSCRIPTEN_BINDINGS, or alone (`calls`), classes of
// the tables, and functions that are called by address.
// `within` names a part that is loaded, too: it has the code that both use, and the code that several parts within it use. It
// comes later in this list.
export const parts = {
  data: { bindings: ['data', 'utils', 'predict'], classes: [], functions: ['of_dataset', 'of_creator', 'arrays_in_npz', 'arrays_to_npz'] },
  keras2: { within: 'formats', bindings: [], classes: [], functions: ['load_h5', 'find_keras2_weights'] },
  formats: {
    within: 'saving',
    bindings: [],
    classes: [],
    functions: ['load_keras', 'save_keras', 'load_keras_weights', 'save_keras_weights', 'load_keras_strings'],
  },
  tfjs: { within: 'saving', bindings: [], classes: [], functions: ['load_tfjs', 'save_tfjs', 'tfjs_weight_names'] },
  experiment: { within: 'saving', bindings: ['experiment'], classes: [], functions: [] },
  archives: { bindings: [], classes: [], functions: ['open_zip', 'create_zip', 'expand_zlib'] },
  saving: { bindings: ['saving', 'more_ops'], classes: ['ModelCheckpoint', 'BackupAndRestore'], functions: ['object_of_web_as_json', 'object_of_web_from_json', 'replace_pattern'] },
  callbacks: { bindings: ['operational_metrics'], classes: ['CSVLogger', 'RemoteMonitor', 'TensorBoard', 'OperationalMetrics', 'SwapEMAWeights'], functions: ['make_event_file'] },
  preprocessing: {
    bindings: ['text'],
    classes: [
      'Normalization', 'Discretization', 'CategoryEncoding', 'IntegerLookup', 'StringLookup', 'TextVectorization', 'Hashing', 'HashedCrossing', 'RandomFourierFeatures', 'Resizing', 'CenterCrop', 'AutoContrast', 'Equalization',
      'ContrastLimitedAdaptiveHistogramEqualization',
      'RandomFlip', 'RandomCrop', 'RandomTranslation', 'RandomZoom', 'RandomRotation', 'RandomShear', 'RandomPerspective', 'RandomElasticTransform', 'AugMix', 'RandAugment', 'RandomColorDegeneration', 'Pipeline', 'RandomBrightness',
      'RandomContrast', 'RandomHue', 'RandomSaturation', 'RandomSharpness', 'RandomPosterization', 'RandomInvert', 'RandomGrayscale',
      'RandomColorJitter', 'RandomGaussianBlur', 'Solarization', 'RandomErasing', 'MixUp', 'CutMix', 'MaxNumBoundingBoxes',
    ],
    functions: ['make_space'],
  },
  extras: {
    bindings: ['execution'],
    calls: ['explain', 'ops.einsum'],
    classes: [
      // Layers: of three axes, and rare ones.
      'Conv3D', 'Conv3DTranspose', 'Cropping3D', 'UpSampling3D', 'ZeroPadding3D', 'SpatialDropout3D', 'AveragePooling3D', 'MaxPooling3D',
      'GlobalAveragePooling3D', 'GlobalMaxPooling3D', 'AdaptiveAveragePooling1D', 'AdaptiveAveragePooling2D', 'AdaptiveAveragePooling3D',
      'AdaptiveMaxPooling1D', 'AdaptiveMaxPooling2D', 'AdaptiveMaxPooling3D', 'ConvLSTM1D', 'ConvLSTM2D', 'ConvLSTM3D',
      'LocallyConnected1D', 'LocallyConnected2D', 'SpectralNormalization', 'AdditiveAttention', 'GroupedQueryAttention', 'EinsumDense',
      'ReversibleEmbedding', 'AlphaDropout', 'ThresholdedReLU', 'STFTSpectrogram', 'MelSpectrogram', 'DepthwiseConv1D',
      'SeparableConv1D', 'Conv1DTranspose', 'Cropping1D', 'UpSampling1D', 'ZeroPadding1D', 'UnitNormalization', 'ActivityRegularization',
      // Metrics, losses, optimizers and others. Profiler names instructions by the code of explain.
      'BinaryIoU', 'IoU', 'MeanIoU', 'OneHotIoU', 'OneHotMeanIoU', 'R2Score', 'MeanTensor', 'MeanRelativeError', 'SumOverBatchSize', 'ConcordanceCorrelation', 'PearsonCorrelation',
      'PrecisionAtRecall', 'RecallAtPrecision', 'SensitivityAtSpecificity', 'SpecificityAtSensitivity', 'Circle', 'CTC', 'Dice', 'Tversky',
      'CategoricalGeneralizedCrossEntropy', 'CategoricalHinge', 'SquaredHinge', 'LogCosh', 'LogCoshError', 'F1Score', 'FBetaScore', 'BinaryFocalCrossentropy', 'CategoricalFocalCrossentropy', 'Adagrad', 'Adadelta', 'Adamax', 'Nadam', 'Adafactor', 'Ftrl', 'Lamb', 'Lion', 'Muon', 'MultiOptimizer',
      'ScheduleFreeAdamW', 'CosineDecayRestarts', 'LinearCosineDecay', 'NoisyLinearCosineDecay', 'Profiler', 'STFT', 'MinMaxNorm', 'RadialConstraint', 'OrthogonalRegularizer',
    ],
    functions: [],
  },
};
