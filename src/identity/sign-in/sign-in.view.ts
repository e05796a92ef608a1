import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../../platform/http/index.js';
import type { OpenSignIn } from './login-session.repository.js';

export class SignInView {
  @ApiProperty({ format: 'uuid', description: 'Names the sign-in; it is not its token' })
  tokenId: string;

  @ApiProperty({ example: 1 })
  userId: number;

  @ApiProperty({ example: 'admin' })
  userName: string;

  @ApiProperty({ example: 'pc' })
  clientKey: string;

  @ApiProperty({ type: String, nullable: true, example: 'pc' })
  deviceType: string | null;

  @ApiProperty({ type: String, nullable: true, example: '127.0.0.1' })
  ipaddr: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'What the browser calls itself' })
  browser: string | null;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  loginTime: string;

  @ApiProperty({ example: '2026-01-31 18:30:00', description: 'To the minute' })
  lastActiveTime: string;

  @ApiProperty({ example: '2026-02-07 18:30:00' })
  expireTime: string;

  @ApiProperty({ description: 'Whether it is the sign-in that asks' })
  current: boolean;
}

export function toSignInView(signIn: OpenSignIn, currentId: string): SignInView {
  return {
    tokenId: signIn.id,
    userId: signIn.userId,
    userName: signIn.userName,
    clientKey: signIn.clientKey,
    deviceType: signIn.deviceType,
    ipaddr: signIn.ip,
    browser: signIn.userAgent,
    loginTime: wireTime(signIn.createTime),
    lastActiveTime: wireTime(signIn.lastActiveTime),
    expireTime: wireTime(signIn.expireTime),
    current: signIn.id === currentId,
  };
}
