/** Answers a function that gives the process its variables, folder and listeners of now back. */
export function captureProcess() {
  const folder = process.cwd();
  const variables = { ...process.env };
  const listeners = new Map(process.eventNames().map((name) => [name, process.rawListeners(name)]));
  return () => {
    if (process.cwd() !== folder) process.chdir(folder);
    restoreVariables(variables);
    for (const name of process.eventNames()) {
      const kept = listeners.get(name) ?? [];
      for (const listener of process.rawListeners(name)) {
        if (!kept.includes(listener)) process.removeListener(name, listener);
      }
    }
  };
}

function restoreVariables(variables) {
  for (const name of Object.keys(process.env)) {
    if (!(name in variables)) delete process.env[name];
  }
  for (const [name, value] of Object.entries(variables)) {
    if (process.env[name] !== value) process.env[name] = value;
  }
}
