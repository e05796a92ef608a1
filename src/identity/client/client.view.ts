import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../../platform/http/index.js';
import type { Client } from './client.entity.js';

/** A client without its secret. */
export class ClientView {
  @ApiProperty({ example: 1 })
  id: number;

  @ApiProperty({ example: 'e5cd7e4891bf95d1d19206ce24a7b32e' })
  clientId: string;

  @ApiProperty({ example: 'pc' })
  clientKey: string;

  @ApiProperty({ type: [String], example: ['password'] })
  grantTypeList: string[];

  @ApiProperty({ example: 'password' })
  grantType: string;

  @ApiProperty({ type: String, nullable: true, example: 'pc' })
  deviceType: string | null;

  @ApiProperty({ example: 1_800 })
  activeTimeout: number;

  @ApiProperty({ example: 604_800 })
  timeout: number;

  @ApiProperty({ enum: ['0', '1'], description: '0 enabled, 1 disabled' })
  status: string;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  createTime: string;
}

export function toClientView(client: Client): ClientView {
  return {
    id: client.id,
    clientId: client.clientId,
    clientKey: client.clientKey,
    grantTypeList: client.grantType.split(','),
    grantType: client.grantType,
    deviceType: client.deviceType,
    activeTimeout: client.activeTimeout,
    timeout: client.timeout,
    status: client.status,
    createTime: wireTime(client.createTime),
  };
}
