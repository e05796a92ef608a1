import {
  recordRevision,
  integer,
  recordId,
  sheetOf,
  text,
  time,
  View,
  zeroOrOne,
} from '../platform/http/index.js';
import type { Provider } from './provider.entity.js';

/** A provider under both names of its fields. Empty texts are '', because a client's form stumbles over null. */
export class ProviderView extends View({
  id: recordId(),
  providerName: text({ example: 'Our gateway' }),
  name: text({ example: 'Our gateway', description: 'The same as providerName' }),
  providerCode: text({ example: 'custom_api' }),
  providerIcon: text({ example: '' }),
  icon: text({ example: '', description: 'The same as providerIcon' }),
  providerDesc: text({ example: '' }),
  description: text({ example: '', description: 'The same as providerDesc' }),
  apiHost: text({ example: 'https://api.example.com/v1' }),
  protocolVersion: text({ example: '', description: 'Empty means 2023-06-01' }),
  sortOrder: integer({ example: 0 }),
  status: zeroOrOne({ example: 0, description: '0 enabled, 1 disabled' }),
  remark: text({ example: '' }),
  revision: recordRevision(),
  createTime: time(),
  updateTime: time(),
}) {}

export const providerSheet = sheetOf<ProviderView>('Providers', {
  id: 'Id',
  providerName: 'Name',
  providerCode: 'Code',
  providerDesc: 'Description',
  apiHost: 'Address',
  protocolVersion: 'Protocol version',
  sortOrder: 'Order',
  status: ['Status', { 0: 'Enabled', 1: 'Disabled' }],
  remark: 'Remark',
  createTime: 'Created',
  updateTime: 'Changed',
});

export function toProviderView(provider: Provider): ProviderView {
  const icon = provider.providerIcon ?? '';
  const description = provider.providerDesc ?? '';
  return ProviderView.of(provider, {
    name: provider.providerName,
    providerIcon: icon,
    icon,
    providerDesc: description,
    description,
    apiHost: provider.apiHost ?? '',
    protocolVersion: provider.protocolVersion ?? '',
    remark: provider.remark ?? '',
  });
}
