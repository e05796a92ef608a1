/** Saves a file that the service has answered, under its name. */
export function saveFile(
  file: Blob | File,
  name = file instanceof File ? file.name : 'download',
): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken the file when the click returns, but for some that read it a moment later.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
