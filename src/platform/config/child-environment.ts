/** The environment of a program that the operator has installed: that of this process, and the variables. */
export function childEnvironment(variables: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...variables };
}
