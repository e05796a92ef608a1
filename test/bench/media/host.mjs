// A host of media resources: one with a declared length, one without.
import { once } from 'node:events';
import { createServer } from 'node:https';

const [{ certificate, bytes }] = await once(process, 'message');
process.once('disconnect', () => process.exit());

const block = Buffer.alloc(1024 * 1024);
const first = Buffer.from(block);
first.set(Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'));

const server = createServer(certificate, (request, response) => {
  response.setHeader('content-type', 'image/png');
  if (request.url === '/sized') response.setHeader('content-length', bytes);
  let sent = 0;
  const more = () => {
    while (sent < bytes) {
      const piece = sent === 0 ? first : block;
      sent += piece.length;
      if (!response.write(piece)) {
        response.once('drain', more);
        return;
      }
    }
    response.end();
  };
  more();
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
