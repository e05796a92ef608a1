import { Injectable } from '@nestjs/common';
import { inHomeTenant, UserLifecycle } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { isPageImage, isRefused, StorageService } from '../../platform/storage/index.js';
import type { ReceivedFile, UploadedPart } from '../../platform/storage/index.js';
import { AccessChange } from '../access/access.change.js';
import type { User } from './user.entity.js';
import { UserRepository } from './user.repository.js';

/** The kind of avatar files in the storage. */
const FILE_KIND = 'avatar';

/** The address of a user's avatar; null without one. */
export type AvatarAddress = (user: Pick<User, 'tenantId' | 'avatar'>) => string | null;

/** The avatars of users: images that are part of the user's record. Their addresses open them without a sign-in. */
@Injectable()
export class Avatars {
  constructor(
    private readonly storage: StorageService,
    private readonly users: UserRepository,
    private readonly change: AccessChange,
    lifecycle: UserLifecycle,
  ) {
    lifecycle.join({ deleting: (userIds) => storage.removeOfUsers(userIds, FILE_KIND) });
  }

  async addresses(): Promise<AvatarAddress> {
    const addressOf = await this.storage.permanentAddresses();
    return ({ tenantId, avatar }) =>
      avatar === null ? null : addressOf({ tenantId, fileId: avatar }, 'avatar.png');
  }

  /** Replaces the caller's own avatar by the one file of an upload, and answers its address. */
  async replace(caller: Caller, parts: readonly UploadedPart[]): Promise<string> {
    const homeCaller = inHomeTenant(caller);
    try {
      const image = imageOf(parts);
      const keep = async (): Promise<number> =>
        (await this.storage.keep(homeCaller, image, FILE_KIND)).id;
      const avatar = await this.set(homeCaller, keep);
      return (await this.addresses())({ tenantId: homeCaller.tenantId, avatar }) ?? '';
    } finally {
      await this.storage.discardUnrecorded(parts);
    }
  }

  /** Removes the caller's own avatar: its address answers 404 from then on. */
  async remove(caller: Caller): Promise<void> {
    await this.set(inHomeTenant(caller), () => Promise.resolve(null));
  }

  private async set<Avatar extends number | null>(
    homeCaller: Caller,
    make: () => Promise<Avatar>,
  ): Promise<Avatar> {
    const { tenantId, userId } = homeCaller;
    return this.change.apply(
      homeCaller,
      async () => {
        const { avatar: previousAvatar } = await this.users.users.get(tenantId, userId);
        const avatar = await make();
        await this.users.users.update(tenantId, userId, { avatar });
        if (previousAvatar !== null) await this.storage.removeOwned(homeCaller, [previousAvatar]);
        return avatar;
      },
      () => [{ action: 'update', target: 'user', id: userId, detail: { fields: ['avatar'] } }],
    );
  }
}

function imageOf(parts: readonly UploadedPart[]): ReceivedFile {
  const [part] = parts;
  if (parts.length !== 1 || !part) {
    throw new InvalidInputError(msg`Send one image as \`avatarfile\`.`);
  }
  if (isRefused(part)) throw part.refusal;
  if (!isPageImage(part.mimeType)) {
    throw new InvalidInputError(
      msg`The file is not a PNG, JPEG, GIF, WebP or BMP image. Choose another one.`,
    );
  }
  return part;
}
