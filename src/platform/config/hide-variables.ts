/** Removes variables from the environment of this process, for packages that read it by themselves. */
export function hideVariables(names: RegExp): void {
  for (const name of Object.keys(process.env)) {
    if (names.test(name)) Reflect.deleteProperty(process.env, name);
  }
}
