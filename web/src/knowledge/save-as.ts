/** Gives the browser a file to save. */
export function saveAs(
  file: Blob | File,
  name = file instanceof File ? file.name : 'download',
): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The download has begun by then; without this the file would stay in memory.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
