import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import {
  Answers,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  WithExport,
} from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import {
  ChangedClientDto,
  ClientListQuery,
  clientSheet,
  ClientStatusDto,
  ClientView,
  NewClientDto,
} from './client.dto.js';
import { ClientService } from './client.service.js';

@ApiTags('clients')
@Controller('system/client')
export class ClientController {
  constructor(private readonly clients: ClientService) {}

  /** All clients, newest first. */
  @Get('list')
  @RequirePermission('system:client:list')
  @AnswersPage(ClientView)
  @WithExport(clientSheet, RequirePermission('system:client:export'))
  list(@Query() query: ClientListQuery): Promise<Page<ClientView>> {
    return this.clients.list(query);
  }

  /** One client. */
  @Get(':id')
  @RequirePermission('system:client:query')
  @Answers(ClientView)
  get(@Param('id', IdPipe) id: number): Promise<ClientView> {
    return this.clients.detail(id);
  }

  /** Creates a client with a random clientId. */
  @Post()
  @RequirePermission('system:client:add')
  @AnswersStatus()
  create(@CurrentCaller() caller: Caller, @Body() body: NewClientDto): Promise<void> {
    return this.clients.create(caller, body);
  }

  /** Changes a client. Absent fields keep their values. */
  @Put()
  @RequirePermission('system:client:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: ChangedClientDto): Promise<void> {
    return this.clients.update(caller, body);
  }

  /** Enables or disables a client. A disabled client cannot sign in, and its sign-ins end. */
  @Put('changeStatus')
  @RequirePermission('system:client:edit')
  @AnswersStatus()
  changeStatus(@CurrentCaller() caller: Caller, @Body() body: ClientStatusDto): Promise<void> {
    return this.clients.changeStatus(caller, body);
  }

  /** Deletes clients and ends the sign-ins made with them. */
  @Delete(':ids')
  @RequirePermission('system:client:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.clients.remove(caller, ids);
  }
}
