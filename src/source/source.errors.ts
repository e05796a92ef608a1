import { ConflictError, InvalidInputError, NotFoundError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';

export class UnknownSourceError extends NotFoundError {
  constructor() {
    super(msg`The source`);
  }
}

export class ConnectorSourceError extends ConflictError {
  constructor(name: string) {
    super(
      msg`The source ${name} belongs to a connector, which alone puts its documents. Choose another name of a source.`,
    );
  }
}

export class UnknownCursorError extends ConflictError {
  constructor() {
    super(
      msg`The cursor names no open run of this source: it is unknown, or another run has replaced it. Begin a run, put every document again and complete that one.`,
    );
  }
}

export class EmptyRunError extends ConflictError {
  constructor(documents: number) {
    super(
      msg`The run has seen none of the ${documents} documents of the source, so nothing was removed. If all of them are to be removed, send allowEmpty: true.`,
    );
  }
}

export class InvalidAclError extends InvalidInputError {
  constructor(maximum: number) {
    super(
      msg`acl must be an object: {"public": true}, or users and groups as lists of at most ${maximum} names together.`,
    );
  }
}

export class SeveralContentsError extends InvalidInputError {
  constructor() {
    super(msg`Send one content: a part named file, text or address.`);
  }
}

export class InvalidExternalIdError extends InvalidInputError {
  constructor(maximum: number) {
    super(msg`The id of the document at its source must have 1 to ${maximum} bytes.`);
  }
}

export class BucketError extends InvalidInputError {
  constructor(reason: string, cause: unknown) {
    super(
      msg`The bucket could not be read (${reason}). Check its address and region, the access key, and its rights to list and read.`,
      { cause },
    );
  }
}

export class InvalidBucketError extends InvalidInputError {
  constructor() {
    super(
      msg`The address of a bucket is that of its server with the name of the bucket, such as https://s3.eu-central-1.amazonaws.com/handbook. Name a folder in its own field.`,
    );
  }
}

export class InvalidKeysError extends InvalidInputError {
  constructor() {
    super(msg`The token of a bucket is its access key id and secret, joined by a colon.`);
  }
}

export class OtherKindError extends ConflictError {
  constructor(name: string, kind: string) {
    super(msg`There is a source ${name} of the kind ${kind}. Choose another name, or delete it.`);
  }
}

export class NoConnectorError extends ConflictError {
  constructor(name: string) {
    super(msg`A program puts the documents of the source ${name}. Run that program.`);
  }
}

export class RunningError extends ConflictError {
  constructor() {
    super(msg`The source is running already. Wait until the run has ended.`);
  }
}
