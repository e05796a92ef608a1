import { getMetadataStorage } from 'class-validator';

type Storage = ReturnType<typeof getMetadataStorage>;
type Read = Storage['getTargetValidationMetadatas'];

let isRemembering = false;

/**
 * Makes class-validator remember the rules of a class. By itself it goes over those of every class of the process for each
 * value that it checks. Schemas and groups, which Plinth does not use, are looked up as before.
 */
export function rememberValidationRules(): void {
  if (isRemembering) return;
  isRemembering = true;
  const storage = getMetadataStorage();
  const read = storage.getTargetValidationMetadatas.bind(storage);
  const known = new WeakMap<Parameters<Read>[0], ReturnType<Read>>();
  storage.getTargetValidationMetadatas = (target, ...how) => {
    const [schema, always, strictGroups, groups] = how;
    if (schema || always || strictGroups || groups?.length) return read(target, ...how);
    const rules = known.get(target) ?? read(target, ...how);
    known.set(target, rules);
    return rules;
  };
}
