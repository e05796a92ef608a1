/** Saves a file from the service under its name. */
export function saveFile(
  file: Blob | File,
  name = file instanceof File ? file.name : 'download',
): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // Most browsers read the file during the click, some shortly after.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
