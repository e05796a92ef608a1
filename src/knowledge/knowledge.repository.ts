import { Injectable } from '@nestjs/common';
import { In, IsNull, Not } from 'typeorm';
import type { FindOptionsWhere } from 'typeorm';
import type { Caller } from '../platform/access/index.js';
import { containing, Database, TenantScoped } from '../platform/database/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { grantedTo } from '../grant/index.js';
import type { GrantLevel } from '../grant/index.js';
import type { KnowledgeListQuery } from './knowledge.dto.js';
import { KnowledgeBase } from './knowledge.entity.js';

/** Written columns; undefined ones keep their value or get their default. */
export type KnowledgeValues = Partial<
  Omit<
    KnowledgeBase,
    | 'id'
    | 'tenantId'
    | 'userId'
    | 'share'
    | 'vectorsLostAt'
    | 'restricted'
    | 'passedOn'
    | 'createTime'
    | 'updateTime'
  >
>;

@Injectable()
export class KnowledgeRepository {
  readonly bases: TenantScoped<KnowledgeBase>;

  constructor(private readonly database: Database) {
    this.bases = new TenantScoped(database, KnowledgeBase, msg`The knowledge base`);
  }

  /** The bases that the caller may read. */
  async page(caller: Caller, query: KnowledgeListQuery): Promise<Page<KnowledgeBase>> {
    const where = { ...filter(query), ...ordinary(caller, 'read') };
    return this.bases.pageAtOnce(caller.tenantId, query, where, { id: 'DESC' });
  }

  /** The base, if the caller has the level on it. */
  async reached(caller: Caller, id: number, level: GrantLevel): Promise<KnowledgeBase | null> {
    const ofOwnSession = { id, userId: caller.userId, sessionId: Not(IsNull()) };
    return this.bases.findOne(caller.tenantId, [ordinary(caller, level, [id]), ofOwnSession]);
  }

  /** Those of the bases that the caller may use, and those that `manager` manages. */
  async usable(
    caller: Caller,
    ids: readonly number[],
    manager: Caller | undefined,
  ): Promise<KnowledgeBase[]> {
    const ofOwnSession = { id: In([...ids]), userId: caller.userId, sessionId: Not(IsNull()) };
    return this.bases.find(caller.tenantId, [
      ordinary(caller, 'use', ids),
      ...(manager ? [ordinary(manager, 'manage', ids)] : []),
      ofOwnSession,
    ]);
  }

  async findOne(tenantId: string, id: number): Promise<KnowledgeBase | null> {
    return this.bases.findOne(tenantId, { id });
  }

  async find(tenantId: string, ids: readonly number[]): Promise<KnowledgeBase[]> {
    return this.bases.find(tenantId, { id: In([...ids]) });
  }

  async readableIds(caller: Caller): Promise<number[]> {
    const rows = await this.bases.rows.find({
      select: { id: true },
      where: { ...ordinary(caller, 'read'), tenantId: caller.tenantId },
      order: { id: 'ASC' },
    });
    return rows.map(({ id }) => id);
  }

  async ofSession(tenantId: string, sessionId: number): Promise<KnowledgeBase | null> {
    return this.bases.findOne(tenantId, { sessionId });
  }

  /** The bases of the caller's own ones among the sessions. */
  async idsOfSessions(
    { tenantId, userId }: Caller,
    sessionIds: readonly number[],
  ): Promise<number[]> {
    const bases = await this.bases.find(tenantId, { userId, sessionId: In([...sessionIds]) });
    return bases.map(({ id }) => id);
  }

  async insert(tenantId: string, userId: number | null, values: KnowledgeValues): Promise<number> {
    const { id } = await this.bases.insert(tenantId, { ...values, userId });
    return id;
  }

  /** Blocks changes of the base, but not other shared locks, until the open transaction ends. */
  async lockForShare(tenantId: string, id: number): Promise<void> {
    await this.database.query(
      'SELECT id FROM knowledge_base WHERE tenant_id = $1 AND id = $2 FOR SHARE',
      [tenantId, id],
    );
  }

  /** Blocks changes and shared locks, but not the insertion of documents, until the open transaction ends. */
  async lockForUpdate(tenantId: string, ids: readonly number[]): Promise<void> {
    await this.database.query(
      'SELECT id FROM knowledge_base WHERE tenant_id = $1 AND id = ANY ($2::bigint[]) ORDER BY id FOR NO KEY UPDATE',
      [tenantId, ids],
    );
  }

  /** Blocks changes of the bases and references to them. */
  async lockForDelete(tenantId: string, ids: readonly number[]): Promise<void> {
    await this.database.query(
      'SELECT id FROM knowledge_base WHERE tenant_id = $1 AND id = ANY ($2::bigint[]) ORDER BY id FOR UPDATE',
      [tenantId, ids],
    );
  }
}

/** The bases that are not of chat sessions, on which the caller has the level. The base of a session is its owner's alone. */
function ordinary(
  caller: Caller,
  level: GrantLevel,
  ids?: readonly number[],
): FindOptionsWhere<KnowledgeBase> {
  return { ...grantedTo(caller, 'knowledge', level, ids), sessionId: IsNull() };
}

function filter({ name, share, ...query }: KnowledgeListQuery): FindOptionsWhere<KnowledgeBase> {
  const { vectorModel, embeddingModel, enableHybrid, enableRerank, rerankModel } = query;
  return {
    ...(name && { name: containing(name) }),
    ...(share !== undefined && { share }),
    ...(vectorModel && { vectorModel }),
    ...(embeddingModel && { embeddingModel }),
    ...(enableHybrid !== undefined && { enableHybrid }),
    ...(enableRerank !== undefined && { enableRerank }),
    ...(rerankModel && { rerankModel }),
  };
}
