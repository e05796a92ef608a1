import { describe, expect, it, test } from '@jest/globals';
import { soundIn } from './sound.js';

/** A WAV of 8,000 bytes a second. */
function wave(seconds: number): Buffer {
  const bytes = Buffer.alloc(44 + seconds * 8_000);
  bytes.write('RIFF', 0, 'latin1');
  bytes.write('WAVEfmt ', 8, 'latin1');
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt32LE(8_000, 28);
  return bytes;
}

function flac(seconds: number): Buffer {
  const bytes = Buffer.alloc(64);
  bytes.write('fLaC', 0, 'latin1');
  bytes.writeUIntBE(44_100 << 4, 18, 3);
  bytes.writeUInt32BE(44_100 * seconds, 22);
  return bytes;
}

function ogg(seconds: number): Buffer {
  const bytes = Buffer.alloc(128);
  bytes.write('OggS', 0, 'latin1');
  bytes.write('OggS', 64, 'latin1');
  bytes.writeBigInt64LE(BigInt(seconds * 48_000), 70);
  return bytes;
}

function mp4(seconds: number): Buffer {
  const bytes = Buffer.alloc(128);
  bytes.write('ftyp', 4, 'latin1');
  bytes.write('mvhd', 40, 'latin1');
  bytes.writeUInt32BE(1_000, 56);
  bytes.writeUInt32BE(seconds * 1_000, 60);
  return bytes;
}

/** 128 kbit/s of MPEG-1, layer III, behind a tag of 20 bytes. */
function mp3(seconds: number): Buffer {
  const tag = Buffer.alloc(30);
  tag.write('ID3', 0, 'latin1');
  tag.writeUInt8(20, 9);
  const frames = Buffer.alloc(seconds * 16_000);
  frames.set([0xff, 0xfb, 0x90, 0x00]);
  return Buffer.concat([tag, frames]);
}

describe('the length of a sound', () => {
  test.each([
    ['wav', wave(12), 12],
    ['flac', flac(600), 600],
    ['ogg', ogg(90), 90],
    ['m4a', mp4(45), 45],
    ['mp3', mp3(30), 30],
  ])('of %s is what it declares', (ending, bytes, seconds) => {
    const sound = soundIn(bytes);

    expect(sound?.ending).toBe(ending);
    expect(sound?.seconds).toBeCloseTo(seconds, 1);
  });

  it('is estimated where the file does not say it, or nonsense', () => {
    const webm = Buffer.alloc(8_000);
    webm.set([0x1a, 0x45, 0xdf, 0xa3]);
    const broken = wave(0);
    broken.writeUInt32LE(0, 28);

    expect(soundIn(webm)).toEqual({ mimeType: 'audio/webm', ending: 'webm', seconds: 2 });
    expect(soundIn(broken)?.seconds).toBeLessThan(1);
    expect(soundIn(Buffer.from('ID3'))?.seconds).toBeLessThan(1);
  });
});

test.each(['', 'Hello', '<html></html>', '%PDF-1.7', '\x89PNG\r\n'])('%j is no sound', (text) => {
  expect(soundIn(Buffer.from(text, 'latin1'))).toBeUndefined();
});
