import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../../platform/http/index.js';
import type { OpenSignIn } from '../login-session/login-session.repository.js';

export class SignInView {
  @ApiProperty({ format: 'uuid', description: 'Id of the sign-in; not its token' })
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

  @ApiProperty({ type: String, nullable: true, description: 'User agent of the browser' })
  browser: string | null;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  loginTime: string;

  @ApiProperty({ example: '2026-01-31 18:30:00', description: 'To the minute' })
  lastActiveTime: string;

  @ApiProperty({ example: '2026-02-07 18:30:00' })
  expireTime: string;

  @ApiProperty({ description: 'Whether this is the sign-in of the request' })
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
