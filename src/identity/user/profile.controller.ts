import { Body, Controller, Delete, Get, Ip, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Answers, AnswersStatus } from '../../platform/http/index.js';
import { ReceivedFiles, ReceivesAvatar } from '../../platform/storage/index.js';
import type { UploadedPart } from '../../platform/storage/index.js';
import { Avatars } from './avatars.js';
import { ProfileService } from './profile.service.js';
import { OwnInfoQuery, OwnPasswordDto, ProfileDto } from './user.dto.js';
import { AvatarView, ProfileView, UserInfoView } from './user.view.js';

@ApiTags('own account')
@LoginOnly()
@Controller('system/user')
export class ProfileController {
  constructor(
    private readonly profiles: ProfileService,
    private readonly avatars: Avatars,
  ) {}

  /** The caller with their permissions and roles. Ends a switch to another tenant, unless `keepTenant` is true. */
  @Get('getInfo')
  @LoginOnly({ apiKey: 'any' })
  @Answers(UserInfoView)
  info(@CurrentCaller() caller: Caller, @Query() query: OwnInfoQuery): Promise<UserInfoView> {
    return this.profiles.info(caller, query.keepTenant === true);
  }

  /** The profile of the caller. */
  @Get('profile')
  @Answers(ProfileView)
  get(@CurrentCaller() caller: Caller): Promise<ProfileView> {
    return this.profiles.profile(caller);
  }

  /** Changes the profile of the caller. Absent fields keep their values. */
  @Put('profile')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: ProfileDto): Promise<void> {
    return this.profiles.update(caller, body);
  }

  /** Replaces the avatar of the caller by the image in the part named `avatarfile`, of at most 1 MiB. */
  @Post('profile/avatar')
  @ReceivesAvatar()
  @Answers(AvatarView)
  async replaceAvatar(
    @CurrentCaller() caller: Caller,
    @ReceivedFiles() parts: UploadedPart[],
  ): Promise<AvatarView> {
    return { imgUrl: await this.avatars.replace(caller, parts) };
  }

  /** Removes the avatar of the caller. Its address answers 404 from then on. */
  @Delete('profile/avatar')
  @AnswersStatus()
  removeAvatar(@CurrentCaller() caller: Caller): Promise<void> {
    return this.avatars.remove(caller);
  }

  /** Changes the password of the caller and ends their other sign-ins. */
  @Put('profile/updatePwd')
  @AnswersStatus()
  changePassword(
    @CurrentCaller() caller: Caller,
    @Body() body: OwnPasswordDto,
    @Ip() ip: string | undefined,
  ): Promise<void> {
    return this.profiles.changePassword(caller, body, ip);
  }
}
