import {
  Input,
  integer,
  number,
  OneOf,
  oneOf,
  pageFields,
  sheetOf,
  Text,
  text,
  time,
  TimeRangeField,
  View,
  wireTime,
} from '../http/index.js';
import type { AuditEntry } from './audit.entity.js';

// The audit log as the two log pages of existing consoles read it: sign-ins, and everything else.

export const FAILED_SIGN_IN = 'login-failed';
export const SIGN_IN_ACTIONS: readonly string[] = ['login', FAILED_SIGN_IN, 'logout', 'register'];

/** The entries of the dictionary sys_oper_type that actions are shown as; every other action is "other". */
const OPERATION_TYPES: Readonly<Partial<Record<string, string>>> = {
  create: '1',
  upload: '1',
  update: '2',
  'status-change': '2',
  delete: '3',
  'permission-change': '4',
  revoke: '7',
};
const OTHER = '0';

/** The actions that are shown as this type; undefined for "other", which has all the rest. */
export function actionsOfType(type: string): string[] | undefined {
  if (type === OTHER) return undefined;
  return Object.keys(OPERATION_TYPES).filter((action) => OPERATION_TYPES[action] === type);
}

export function typedActions(): string[] {
  return Object.keys(OPERATION_TYPES);
}

const STATUS = ['0', '1'];

export class OperationLogQuery extends Input({
  ...pageFields({
    operId: 'id',
    title: 'targetType',
    businessType: 'action',
    operName: 'actorName',
    operIp: 'ip',
    operTime: 'createTime',
    // The audit log records no times, so this order is that of the entries.
    costTime: 'id',
  }),
  title: Text({ optional: true, max: 40, description: 'Part of the kind of record' }),
  operName: Text({ optional: true, max: 64, description: 'Part of the name' }),
  businessType: Text({ optional: true, max: 10, description: 'A value of sys_oper_type' }),
  operIp: Text({ optional: true, max: 64, description: 'Part of the address' }),
  status: OneOf(STATUS, { optional: true, description: '0 done; there are no others' }),
  params: TimeRangeField(),
}) {}

/** An entry of the audit log. Existing consoles read the fields that are always empty or 0. */
export class OperationLogView extends View({
  operId: integer({ example: 1 }),
  tenantId: text({ example: '000000' }),
  title: text({ example: 'provider', description: 'The kind of record' }),
  businessType: text({ example: '2', description: 'A value of sys_oper_type' }),
  action: text({ example: 'update' }),
  method: text({ example: '' }),
  requestMethod: text({ example: '' }),
  operatorType: integer({ example: 1 }),
  operName: text({ example: 'admin' }),
  deptName: text({ example: '' }),
  operUrl: text({ example: '' }),
  operIp: text({ example: '127.0.0.1' }),
  operLocation: text({ example: '' }),
  operParam: text({ example: '{"status":1}', description: 'What changed, as JSON' }),
  jsonResult: text({ example: '' }),
  status: oneOf(STATUS, { description: '0 done' }),
  errorMsg: text({ example: '' }),
  operTime: time(),
  costTime: number({ example: 0 }),
}) {}

export const operationLogSheet = sheetOf<OperationLogView>('Operation log', {
  operId: 'Id',
  operTime: 'Time',
  operName: 'User',
  title: 'Record type',
  action: 'Action',
  operParam: 'Detail',
  operIp: 'Address',
});

export function toOperationLogView(entry: AuditEntry): OperationLogView {
  const { action, targetType, targetId, detail } = entry;
  return {
    operId: entry.id,
    tenantId: entry.tenantId,
    title: targetType,
    businessType: OPERATION_TYPES[action] ?? OTHER,
    action,
    method: '',
    requestMethod: '',
    operatorType: 1,
    operName: entry.actorName ?? '',
    deptName: '',
    operUrl: '',
    operIp: entry.ip ?? '',
    operLocation: '',
    operParam: JSON.stringify({ id: targetId, ...detail }),
    jsonResult: '',
    status: '0',
    errorMsg: '',
    operTime: wireTime(entry.createTime),
    costTime: 0,
  };
}

export class SignInLogQuery extends Input({
  ...pageFields({
    infoId: 'id',
    userName: 'actorName',
    status: 'action',
    ipaddr: 'ip',
    loginTime: 'createTime',
  }),
  userName: Text({ optional: true, max: 64, description: 'Part of the name' }),
  ipaddr: Text({ optional: true, max: 64, description: 'Part of the address' }),
  status: OneOf(STATUS, { optional: true, description: '0 done, 1 failed' }),
  params: TimeRangeField(),
}) {}

export class SignInLogView extends View({
  infoId: integer({ example: 1 }),
  tenantId: text({ example: '000000' }),
  userName: text({ example: 'admin' }),
  clientKey: text({ example: 'pc' }),
  deviceType: text({ example: 'pc' }),
  status: oneOf(STATUS, { description: '0 done, 1 failed' }),
  ipaddr: text({ example: '127.0.0.1' }),
  loginLocation: text({ example: '' }),
  browser: text({ example: 'Chrome 129' }),
  os: text({ example: 'Windows 10' }),
  msg: text({ example: 'Signed in.' }),
  loginTime: time(),
}) {}

export const signInLogSheet = sheetOf<SignInLogView>('Sign-in log', {
  infoId: 'Id',
  loginTime: 'Time',
  userName: 'User',
  status: ['Result', { 0: 'Done', 1: 'Failed' }],
  msg: 'Message',
  clientKey: 'Client',
  deviceType: 'Device',
  browser: 'Browser',
  os: 'System',
  ipaddr: 'Address',
});

const MESSAGES: Readonly<Partial<Record<string, string>>> = {
  login: 'Signed in.',
  [FAILED_SIGN_IN]: 'The user name or the password was wrong.',
  logout: 'Signed out.',
  register: 'Registered.',
};

export function toSignInLogView(entry: AuditEntry): SignInLogView {
  const { action, detail } = entry;
  return {
    infoId: entry.id,
    tenantId: entry.tenantId,
    userName: entry.actorName ?? '',
    clientKey: textIn(detail, 'clientKey'),
    deviceType: textIn(detail, 'deviceType'),
    status: action === FAILED_SIGN_IN ? '1' : '0',
    ipaddr: entry.ip ?? '',
    loginLocation: '',
    browser: textIn(detail, 'browser'),
    os: textIn(detail, 'os'),
    msg: MESSAGES[action] ?? action,
    loginTime: wireTime(entry.createTime),
  };
}

/** Entries of earlier releases have fewer details. */
function textIn(detail: Readonly<Record<string, unknown>>, name: string): string {
  const value = detail[name];
  return typeof value === 'string' ? value : '';
}
