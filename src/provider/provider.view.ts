import { Id, Text, Whole, wireTime, ZeroOrOne } from '../platform/http/index.js';
import type { Provider } from './provider.entity.js';

/** A provider under both names of its fields. Empty texts are '', because a client's form stumbles over null. */
export class ProviderView {
  @Id()
  id: number;

  @Text({ example: 'Our gateway' })
  providerName: string;

  @Text({ example: 'Our gateway', description: 'The same as providerName' })
  name: string;

  @Text({ example: 'custom_api' })
  providerCode: string;

  @Text({ example: '' })
  providerIcon: string;

  @Text({ example: '', description: 'The same as providerIcon' })
  icon: string;

  @Text({ example: '' })
  providerDesc: string;

  @Text({ example: '', description: 'The same as providerDesc' })
  description: string;

  @Text({ example: 'https://api.example.com/v1' })
  apiHost: string;

  @Text({ example: '', description: 'Empty means 2023-06-01' })
  protocolVersion: string;

  @Whole({ example: 0 })
  sortOrder: number;

  @ZeroOrOne({ example: 0, description: '0 enabled, 1 disabled' })
  status: number;

  @Text({ example: '' })
  remark: string;

  @Text({ example: '2026-01-31 18:30:00' })
  createTime: string;

  @Text({ example: '2026-01-31 18:30:00' })
  updateTime: string;
}

export function toProviderView(provider: Provider): ProviderView {
  const icon = provider.providerIcon ?? '';
  const description = provider.providerDesc ?? '';
  return {
    id: provider.id,
    providerName: provider.providerName,
    name: provider.providerName,
    providerCode: provider.providerCode,
    providerIcon: icon,
    icon,
    providerDesc: description,
    description,
    apiHost: provider.apiHost ?? '',
    protocolVersion: provider.protocolVersion ?? '',
    sortOrder: provider.sortOrder,
    status: provider.status,
    remark: provider.remark ?? '',
    createTime: wireTime(provider.createTime),
    updateTime: wireTime(provider.updateTime),
  };
}
