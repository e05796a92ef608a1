import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../../platform/http/index.js';
import type { Tenant } from './tenant.entity.js';

export class TenantView {
  @ApiProperty({ example: 1 })
  id: number;

  @ApiProperty({ example: '000000' })
  tenantId: string;

  @ApiProperty({ example: 'Default' })
  companyName: string;

  @ApiProperty({ type: String, nullable: true })
  contactUserName: string | null;

  @ApiProperty({ type: String, nullable: true })
  contactPhone: string | null;

  @ApiProperty({ type: String, nullable: true })
  licenseNumber: string | null;

  @ApiProperty({ type: String, nullable: true })
  address: string | null;

  @ApiProperty({ type: String, nullable: true })
  domain: string | null;

  @ApiProperty({ type: String, nullable: true })
  intro: string | null;

  @ApiProperty({ type: String, nullable: true })
  remark: string | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Always null; existing consoles read it',
  })
  packageId: null;

  @ApiProperty({ type: String, nullable: true, example: '2030-12-31 00:00:00' })
  expireTime: string | null;

  @ApiProperty({ example: -1 })
  accountCount: number;

  @ApiProperty({ enum: ['0', '1'], description: '0 enabled, 1 disabled' })
  status: string;

  @ApiProperty()
  registerEnabled: boolean;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  createTime: string;
}

export function toTenantView(tenant: Tenant): TenantView {
  return {
    id: tenant.id,
    tenantId: tenant.tenantId,
    companyName: tenant.companyName,
    contactUserName: tenant.contactUserName,
    contactPhone: tenant.contactPhone,
    licenseNumber: tenant.licenseNumber,
    address: tenant.address,
    domain: tenant.domain,
    intro: tenant.intro,
    remark: tenant.remark,
    packageId: null,
    expireTime: wireTime(tenant.expireTime),
    accountCount: tenant.accountCount,
    status: tenant.status,
    registerEnabled: tenant.registerEnabled,
    createTime: wireTime(tenant.createTime),
  };
}
