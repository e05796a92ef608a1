import { Body, Controller, Get, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Answers, AnswersStatus } from '../../platform/http/index.js';
import { OwnPasswordDto, ProfileDto } from './user.dto.js';
import { UserPasswords } from './user.passwords.js';
import { UserProfile } from './user.profile.js';
import { ProfileView, UserInfoView } from './user.view.js';

@ApiTags('own account')
@LoginOnly()
@Controller('system/user')
export class ProfileController {
  constructor(
    private readonly profiles: UserProfile,
    private readonly passwords: UserPasswords,
  ) {}

  /** The caller with permissions and roles; ends a switch to another tenant. */
  @Get('getInfo')
  @Answers(UserInfoView)
  info(@CurrentCaller() caller: Caller): Promise<UserInfoView> {
    return this.profiles.info(caller);
  }

  /** The caller's own profile. */
  @Get('profile')
  @Answers(ProfileView)
  profile(@CurrentCaller() caller: Caller): Promise<ProfileView> {
    return this.profiles.profile(caller);
  }

  /** Changes the own profile; what is absent stays. */
  @Put('profile')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: ProfileDto): Promise<void> {
    return this.profiles.update(caller, body);
  }

  /** Changes the own password and ends all other own sign-ins. */
  @Put('profile/updatePwd')
  @AnswersStatus()
  changePassword(@CurrentCaller() caller: Caller, @Body() body: OwnPasswordDto): Promise<void> {
    return this.passwords.changeOwn(caller, body.oldPassword, body.newPassword);
  }
}
