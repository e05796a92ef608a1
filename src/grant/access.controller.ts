import { Body, Controller, Get, Param, Put, Query } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { Answers, AnswersArray, AnswersPage, IdPipe } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import {
  ExplainQuery,
  GrantedQuery,
  RecordQuery,
  ReplaceGrantsBody,
  SubjectQuery,
} from './access.dto.js';
import { AccessService } from './access.service.js';
import {
  AccessRecordView,
  AccessView,
  ExplanationView,
  GrantedRecordView,
  SubjectView,
} from './access.view.js';
import { MAY_ADMINISTER, MAY_GRANT, readType, RESOURCE_TYPES } from './grant.rules.js';

@ApiTags('access')
@Controller('access')
export class AccessController {
  constructor(private readonly access: AccessService) {}

  /** The users, roles and groups of the tenant that can be granted access, at most 100; `name` finds further ones. */
  @Get('subjects')
  @RequirePermission(MAY_GRANT, MAY_ADMINISTER)
  @AnswersArray(SubjectView)
  subjects(@CurrentCaller() caller: Caller, @Query() query: SubjectQuery): Promise<SubjectView[]> {
    return this.access.subjects(caller, query);
  }

  /** All knowledge bases, agents, models and tool servers of the tenant by name, without their contents. Each call is in the audit log. */
  @Get('record/list')
  @RequirePermission(MAY_ADMINISTER)
  @AnswersPage(AccessRecordView)
  records(
    @CurrentCaller() caller: Caller,
    @Query() query: RecordQuery,
  ): Promise<Page<AccessRecordView>> {
    return this.access.records(caller, query);
  }

  /**
   * The records that a subject is granted: of the caller's own subjects all, of others those that the caller manages; all with
   * access:administer.
   */
  @Get('list')
  @LoginOnly()
  @AnswersPage(GrantedRecordView)
  granted(
    @CurrentCaller() caller: Caller,
    @Query() query: GrantedQuery,
  ): Promise<Page<GrantedRecordView>> {
    return this.access.granted(caller, query);
  }

  /**
   * The grants by which a user reaches a record, and what is missing. Of other users only for a record that the caller manages,
   * or with access:administer.
   */
  @Get('explain')
  @LoginOnly()
  @Answers(ExplanationView)
  explain(@CurrentCaller() caller: Caller, @Query() query: ExplainQuery): Promise<ExplanationView> {
    return this.access.explain(caller, query);
  }

  /**
   * Who may use, read, write and manage a record. The caller needs its level manage or access:administer; of a document, write on
   * its base.
   */
  @Get(':resourceType/:id')
  @RequirePermission(MAY_GRANT, MAY_ADMINISTER)
  @ApiParam({ name: 'resourceType', enum: RESOURCE_TYPES })
  @Answers(AccessView)
  get(
    @CurrentCaller() caller: Caller,
    @Param('resourceType') type: string,
    @Param('id', IdPipe) id: number,
  ): Promise<AccessView> {
    return this.access.get(caller, readType(type), id);
  }

  /**
   * Replaces the grants of a record; they count from the next call on. The caller needs its level manage or access:administer, and
   * access:publish to add or change that of the tenant. The grants of a document are its readers, for which write on its base is
   * enough.
   */
  @Put(':resourceType/:id')
  @RequirePermission(MAY_GRANT, MAY_ADMINISTER)
  @ApiParam({ name: 'resourceType', enum: RESOURCE_TYPES })
  @Answers(AccessView)
  replace(
    @CurrentCaller() caller: Caller,
    @Param('resourceType') type: string,
    @Param('id', IdPipe) id: number,
    @Body() body: ReplaceGrantsBody,
  ): Promise<AccessView> {
    return this.access.replace(caller, readType(type), id, body.grants);
  }
}
