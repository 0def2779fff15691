"""The small networks of train_curves.py: one per model of profiles/zoo.yaml, with its
characteristic parts.

They have 2,000 to 20,000 parameters. Each takes a batch of inputs and returns scores per class.
"""

import torch
from torch import nn

import datasets


def conv(inputs, outputs, kernel=3, groups=1, stride=1, relu=True):
    """A convolution with batch normalization, and a ReLU unless `relu` is false."""
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
              nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, nn.ReLU()) if relu else nn.Sequential(*layers)


def classifier(width, classes=datasets.IMAGE_CLASSES):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


class Residual(nn.Module):
    """Adds the input to the output of `body`."""

    def __init__(self, body, relu=True):
        super().__init__()
        self.body = body
        self.relu = relu

    def forward(self, x):
        total = x + self.body(x)
        return torch.relu(total) if self.relu else total


class Shuffle(nn.Module):
    """Mixes the channels of two groups, as in ShuffleNet."""

    def forward(self, x):
        count, width, high, wide = x.shape
        return x.view(count, 2, width // 2, high, wide).transpose(1, 2).reshape(x.shape)


def alexnet():
    """Convolutions with pooling and large dense layers with dropout, without normalization."""
    return nn.Sequential(
        nn.Conv2d(1, 12, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Dropout(0.3), nn.Linear(24 * 9, 64), nn.ReLU(),
        nn.Dropout(0.3), nn.Linear(64, datasets.IMAGE_CLASSES))


def res18():
    """Basic residual blocks of two convolutions."""
    def block(width):
        return Residual(nn.Sequential(conv(width, width), conv(width, width, relu=False)))
    return nn.Sequential(conv(1, 10, stride=2), block(10),
                         conv(10, 20, stride=2), block(20), classifier(20))


def res50():
    """Bottleneck residual blocks: narrow, convolve, widen."""
    def block(width, inner):
        return Residual(nn.Sequential(conv(width, inner, 1), conv(inner, inner),
                                      conv(inner, width, 1, relu=False)))
    return nn.Sequential(conv(1, 16, stride=2), block(16, 6), block(16, 6), conv(16, 32, stride=2),
                         block(32, 12), block(32, 12), classifier(32))


def mobilenet():
    """Inverted residual blocks with depthwise convolutions."""
    def block(width, inner):
        return Residual(nn.Sequential(conv(width, inner, 1), conv(inner, inner, groups=inner),
                                      conv(inner, width, 1, relu=False)), relu=False)
    return nn.Sequential(conv(1, 10, stride=2), block(10, 24),
                         conv(10, 20, 1, stride=2), block(20, 40), classifier(20))


def shufflenet():
    """Grouped convolutions with a channel shuffle between them."""
    def block(width):
        return Residual(nn.Sequential(conv(width, width, 1, groups=2), Shuffle(),
                                      conv(width, width, groups=width, relu=False),
                                      conv(width, width, 1, groups=2, relu=False)))
    return nn.Sequential(conv(1, 16, stride=2), block(16),
                         conv(16, 24, 1, stride=2), block(24), classifier(24))


class Lstm(nn.Module):
    """Language model: embedding, LSTM with dropout, scores of the next character."""

    def __init__(self, width=40):
        super().__init__()
        self.embed = nn.Embedding(datasets.CHARACTERS, 16)
        self.lstm = nn.LSTM(16, width, batch_first=True)
        self.drop = nn.Dropout(0.2)
        self.scores = nn.Linear(width, datasets.CHARACTERS)

    def forward(self, text):
        return self.scores(self.drop(self.lstm(self.embed(text))[0]))


class Gnmt(nn.Module):
    """Translation: bidirectional LSTM encoder, LSTM decoder with attention. Called with
    (sources, targets): the decoder sees the correct translation up to the character before."""

    def __init__(self, width=32):
        super().__init__()
        self.embed_source = nn.Embedding(datasets.CHARACTERS, 16)
        # The additional character is the start of a sentence.
        self.embed_target = nn.Embedding(datasets.CHARACTERS + 1, 16)
        self.encoder = nn.LSTM(16, width // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(16, width, batch_first=True)
        self.place = nn.Embedding(datasets.SENTENCE_LENGTH, width)
        self.drop = nn.Dropout(0.1)
        self.scores = nn.Linear(2 * width, datasets.CHARACTERS)

    def forward(self, source, target):
        places = self.place.weight.unsqueeze(0)
        encoded = self.encoder(self.embed_source(source))[0] + places
        start = torch.full_like(target[:, :1], datasets.CHARACTERS)
        before = self.embed_target(torch.cat([start, target[:, :-1]], dim=1))
        decoded = self.decoder(before)[0] + places
        match = decoded @ encoded.transpose(1, 2) / encoded.shape[2] ** 0.5
        attention = torch.softmax(match, dim=2)
        return self.scores(self.drop(torch.cat([decoded, attention @ encoded], dim=2)))


class Transformer(nn.Module):
    """Language model: two transformer layers that see only earlier characters."""

    def __init__(self, width=24):
        super().__init__()
        length = datasets.LANGUAGE_LENGTH
        self.embed = nn.Embedding(datasets.CHARACTERS, width)
        self.place = nn.Parameter(0.1 * torch.randn(length, width))
        layer = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.scores = nn.Linear(width, datasets.CHARACTERS)
        later = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
        self.register_buffer("later", later)

    def forward(self, text):
        return self.scores(self.layers(self.embed(text) + self.place, mask=self.later))


def m5():
    """One-dimensional convolutions with batch normalization on the waveform."""
    def layer(inputs, outputs, kernel, stride):
        return [nn.Conv1d(inputs, outputs, kernel, stride, kernel // 2),
                nn.BatchNorm1d(outputs), nn.ReLU()]
    return nn.Sequential(*layer(1, 12, 31, 4), nn.MaxPool1d(2),
                         *layer(12, 16, 5, 1), nn.MaxPool1d(2),
                         *layer(16, 24, 5, 1), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
                         nn.Linear(24, datasets.WAVE_CLASSES))


class DeepSpeech(nn.Module):
    """A convolution over frames, a bidirectional GRU, and scores of a phoneme or the blank per
    frame."""

    def __init__(self, width=24):
        super().__init__()
        self.convolve = nn.Conv1d(datasets.BINS, width, 3, padding=1)
        self.recur = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.scores = nn.Linear(2 * width, datasets.PHONEMES + 1)

    def forward(self, frames):
        features = torch.relu(self.convolve(frames.transpose(1, 2))).transpose(1, 2)
        return self.scores(self.recur(features)[0])
