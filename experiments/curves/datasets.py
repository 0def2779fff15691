"""Generates the datasets of train_curves.py. Each function returns a Dataset that depends on its
seed only.

The data is synthetic. Each dataset has noise that no network can predict: wrong labels, or a
random source of characters. So the best possible loss is above zero, as with real data.
"""

from typing import Callable, NamedTuple

import torch

IMAGE_CLASSES = 10
IMAGE_SIDE = 12
CHARACTERS = 16
LANGUAGE_LENGTH = 16
SENTENCE_LENGTH = 8
WAVE_CLASSES = 8
WAVE_LENGTH = 512
PHONEMES = 8
UTTERANCE_PHONEMES = 5
FRAMES = 20
BINS = 12


class Dataset(NamedTuple):
    train_inputs: torch.Tensor
    train_targets: torch.Tensor
    validation_inputs: torch.Tensor
    validation_targets: torch.Tensor
    # Changes a training batch at random, as usual for images and audio.
    augment: Callable  # (inputs, generator) -> inputs


def unchanged(inputs, _):
    return inputs


def with_wrong_labels(labels, classes, share, generator):
    """Replaces this share of the labels with random ones."""
    wrong = torch.rand(labels.shape, generator=generator) < share
    return torch.where(wrong, torch.randint(classes, labels.shape, generator=generator), labels)


def split(inputs, targets, train, augment):
    return Dataset(inputs[:train], targets[:train], inputs[train:], targets[train:], augment)


def images(seed, train=768, validation=512):
    """Ten classes of gray 12x12 pictures: a smooth random pattern per class, at a random place,
    with other random patterns and noise above it; 8% of the labels are wrong."""
    generator = torch.Generator().manual_seed(seed)

    def smooth(count):
        coarse = torch.randn(count, 1, 5, 5, generator=generator)
        return torch.nn.functional.interpolate(coarse, size=IMAGE_SIDE, mode="bilinear",
                                               align_corners=True)

    count = train + validation
    patterns = smooth(IMAGE_CLASSES)
    labels = torch.randint(IMAGE_CLASSES, (count,), generator=generator)
    strength = 0.7 + 0.6 * torch.rand(count, 1, 1, 1, generator=generator)
    pictures = strength * patterns[labels] + 0.8 * smooth(count)
    for i in range(count):
        moves = torch.randint(-2, 3, (2,), generator=generator).tolist()
        pictures[i] = torch.roll(pictures[i], moves, dims=(1, 2))
    pictures += 0.6 * torch.randn(pictures.shape, generator=generator)

    def augment(batch, augmentation):
        moves = torch.randint(-1, 2, (2,), generator=augmentation).tolist()
        noise = torch.randn(batch.shape, generator=augmentation)
        return torch.roll(batch, moves, dims=(2, 3)) + 0.3 * noise

    labels = with_wrong_labels(labels, IMAGE_CLASSES, 0.08, generator)
    return split(pictures, labels, train, augment)


def character_source(generator):
    """Returns the probabilities of the next character after each pair of characters."""
    weights = torch.randn(CHARACTERS, CHARACTERS, CHARACTERS, generator=generator)
    after_last = torch.randn(1, CHARACTERS, CHARACTERS, generator=generator)
    return torch.softmax(1.2 * weights + 1.5 * after_last, dim=2)


def characters(count, length, generator, source):
    """Returns `count` sequences of the second-order Markov source."""
    text = torch.randint(CHARACTERS, (count, 2), generator=generator)
    for _ in range(length - 2):
        odds = source[text[:, -2], text[:, -1]]
        text = torch.cat([text, torch.multinomial(odds, 1, generator=generator)], dim=1)
    return text


def language(seed, train=512, validation=320):
    """Sequences of 16 characters from a random second-order Markov source. The target is the
    next character."""
    generator = torch.Generator().manual_seed(seed)
    source = character_source(generator)
    text = characters(train + validation, LANGUAGE_LENGTH + 1, generator, source)
    return split(text[:, :-1], text[:, 1:], train, unchanged)


def translation(seed, train=640, validation=320):
    """Sentences of 8 characters and their translation: in reverse order, each character replaced
    depending on the one before it in the translation, with 5% random characters."""
    generator = torch.Generator().manual_seed(seed)
    source = characters(train + validation, SENTENCE_LENGTH, generator, character_source(generator))
    words = torch.stack([torch.randperm(CHARACTERS, generator=generator) for _ in range(2)])
    reverse = source.flip(1)
    odd = torch.cat([torch.zeros(len(reverse), 1, dtype=torch.long), reverse[:, :-1] % 2], dim=1)
    targets = with_wrong_labels(words[odd, reverse], CHARACTERS, 0.05, generator)
    return split(source, targets, train, unchanged)


def waves(seed, train=640, validation=512):
    """Eight classes of waveforms: three harmonics of a class, with random phases and a pitch
    that varies by 4%, in noise; 6% of the labels are wrong."""
    generator = torch.Generator().manual_seed(seed)
    count = train + validation
    labels = torch.randint(WAVE_CLASSES, (count,), generator=generator)
    pitches = 6 * 1.18 ** torch.arange(WAVE_CLASSES)
    volumes = torch.rand(WAVE_CLASSES, 3, generator=generator)
    time = torch.linspace(0, 2 * torch.pi, WAVE_LENGTH)
    bend = 1 + 0.04 * torch.randn(count, 1, generator=generator)
    sound = 1.2 * torch.randn(count, WAVE_LENGTH, generator=generator)
    for harmonic in range(3):
        phase = 2 * torch.pi * torch.rand(count, 1, generator=generator)
        pitch = (harmonic + 1) * pitches[labels].unsqueeze(1) * bend
        sound += volumes[labels, harmonic].unsqueeze(1) * torch.sin(pitch * time + phase)

    def augment(batch, augmentation):
        move = int(torch.randint(WAVE_LENGTH, (1,), generator=augmentation))
        return torch.roll(batch, move, dims=2)

    labels = with_wrong_labels(labels, WAVE_CLASSES, 0.06, generator)
    return split(sound.unsqueeze(1), labels, train, augment)


def utterances(seed, train=512, validation=256):
    """Five phonemes of three or four frames of a spectrum, in noise. The target is the sequence
    of phonemes, without their times; 4% of the phonemes are wrong. Label 0 is the blank of the
    CTC loss."""
    generator = torch.Generator().manual_seed(seed)
    spectra = torch.randn(PHONEMES + 1, BINS, generator=generator)
    spectra[0] = 0
    count = train + validation
    frames = 1.1 * torch.randn(count, FRAMES, BINS, generator=generator)
    spoken = 1 + torch.randint(PHONEMES, (count, UTTERANCE_PHONEMES), generator=generator)
    for i, phonemes in enumerate(spoken):
        lengths = torch.randint(3, 5, (UTTERANCE_PHONEMES,), generator=generator)
        heard = torch.repeat_interleave(phonemes, lengths)
        frames[i, :len(heard)] += spectra[heard]
    wrong = 1 + with_wrong_labels(spoken - 1, PHONEMES, 0.04, generator)
    return split(frames, wrong, train, unchanged)
