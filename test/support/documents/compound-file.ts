/** The head and the directory of an OLE compound file [MS-CFB] with this stream: enough to tell what it is. */
export function compoundFileOf(stream: string): Buffer {
  const file = Buffer.alloc(1_536);
  Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(file);
  Buffer.from('Root Entry', 'utf16le').copy(file, 512);
  Buffer.from(stream, 'utf16le').copy(file, 640);
  return file;
}
