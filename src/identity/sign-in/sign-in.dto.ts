import {
  clientSoftware,
  flag,
  Input,
  nullable,
  number,
  pageFields,
  Text,
  text,
  time,
  uuid,
  View,
  wireTime,
} from '../../platform/http/index.js';
import { DEPARTMENT_NAME } from '../role/department.js';
import type { OpenSignIn } from '../login-session/login-session.repository.js';

export class SignInListQuery extends Input({
  ...pageFields('userId', 'userName', 'clientKey', 'deviceType', 'lastActiveTime', 'expireTime', {
    ipaddr: 'ip',
    browser: 'userAgent',
    loginTime: 'createTime',
  }),
  userName: Text({ optional: true, description: 'Part of the name' }),
  ipaddr: Text({ optional: true, description: 'Part of the address' }),
}) {}

export class SignInView extends View({
  tokenId: uuid({ description: 'Id of the sign-in; not its token' }),
  userId: number({ example: 1 }),
  userName: text({ example: 'admin' }),
  clientKey: text({ example: 'pc' }),
  deviceType: nullable(text({ example: 'pc' })),
  ipaddr: nullable(text({ example: '127.0.0.1' })),
  loginLocation: text({ example: '', description: 'Always empty; existing consoles read it' }),
  deptName: text({ example: DEPARTMENT_NAME }),
  browser: nullable(text({ example: 'Chrome 129' })),
  os: nullable(text({ example: 'Windows 10' })),
  userAgent: nullable(text({ description: 'The User-Agent header of the sign-in' })),
  loginTime: time(),
  lastActiveTime: time({ description: 'To the minute' }),
  expireTime: text({ example: '2026-02-07 18:30:00' }),
  current: flag({ description: 'Whether this is the sign-in of the request' }),
}) {}

export function toSignInView(signIn: OpenSignIn, currentId: string): SignInView {
  return SignInView.of(signIn, {
    tokenId: signIn.id,
    ipaddr: signIn.ip,
    loginLocation: '',
    deptName: DEPARTMENT_NAME,
    ...clientSoftware(signIn.userAgent),
    loginTime: wireTime(signIn.createTime),
    current: signIn.id === currentId,
  });
}
