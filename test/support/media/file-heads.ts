/** How files of the types begin; the rest does not matter to anybody who only looks at the beginning. */
export const heads = {
  png: Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  jpeg: Buffer.from('ffd8ffe000104a46494600010100000100', 'hex'),
  gif: Buffer.from('GIF89a' + '\x01'.repeat(12), 'latin1'),
  webp: Buffer.from('RIFF\x24\x00\x00\x00WEBPVP8 ', 'latin1'),
  wav: Buffer.from('RIFF\x24\x00\x00\x00WAVEfmt ', 'latin1'),
  mp3: Buffer.from('fffb9064000000000000000000000000', 'hex'),
  taggedMp3: Buffer.from('ID3\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', 'latin1'),
  ogg: Buffer.from('OggS' + '\x00'.repeat(12), 'latin1'),
  flac: Buffer.from('fLaC' + '\x00'.repeat(12), 'latin1'),
  mp4: Buffer.from('\x00\x00\x00\x18ftypisom\x00\x00\x02\x00', 'latin1'),
  webm: Buffer.from('1a45dfa39f4286810142f7810142f281', 'hex'),
  aac: Buffer.from('fff15080000000000000000000000000', 'hex'),
  html: Buffer.from('<!doctype html><script>alert(1)</script>'),
  svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"></svg>'),
} as const;
