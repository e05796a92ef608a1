import { crc32 } from 'node:zlib';

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** One frame as Bedrock sends it (Smithy, Amazon Event Stream Specification). */
export function awsFrame(headers: Readonly<Record<string, string>>, payload: object): Buffer {
  const named = Buffer.concat(
    Object.entries(headers).map(([name, value]) =>
      Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([7, value.length >> 8, value.length & 0xff]),
        Buffer.from(value),
      ]),
    ),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const lengths = Buffer.concat([
    uint32(12 + named.length + body.length + 4),
    uint32(named.length),
  ]);
  const frame = Buffer.concat([lengths, uint32(crc32(lengths)), named, body]);
  return Buffer.concat([frame, uint32(crc32(frame))]);
}

/** An event of the model in a frame. */
export function awsChunk(event: object): Buffer {
  const bytes = Buffer.from(JSON.stringify(event)).toString('base64');
  return awsFrame(
    { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' },
    { bytes, p: 'abcdefghijklm' },
  );
}
