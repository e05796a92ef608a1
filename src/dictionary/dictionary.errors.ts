import { ConflictError, InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';

export class DuplicateDictionaryTypeError extends ConflictError {
  constructor(dictType: string) {
    super(msg`The dictionary type ${dictType} already exists. Choose another dictType.`);
  }
}

export class DuplicateDictionaryValueError extends ConflictError {
  constructor(dictType: string, dictValue: string) {
    super(
      msg`${dictType} already has an entry with the value ${dictValue}. Choose another dictValue.`,
    );
  }
}

export class UnknownDictionaryTypeError extends InvalidInputError {
  constructor(dictType: string) {
    super(
      msg`There is no dictionary type ${dictType}. Create it first, or choose another dictType.`,
    );
  }
}

export class FixedDictionaryEntryError extends ConflictError {
  constructor(dictType: string, dictValue: string) {
    super(
      msg`The entry ${dictValue} of ${dictType} is built in: stored records use its value. Change its label or its sort instead.`,
    );
  }
}

export class FixedDictionaryTypeError extends ConflictError {
  constructor(dictType: string) {
    super(
      msg`The dictionary type ${dictType} is built in: its dictType cannot be changed. Change its dictName instead.`,
    );
  }
}

export class DictionaryTypeInUseError extends ConflictError {
  constructor(dictType: string) {
    super(msg`The dictionary type ${dictType} still has entries. Delete them first.`);
  }
}
