import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  Answers,
  AnswersArray,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  WhileConnected,
} from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import {
  ChangeServerToolsBody,
  CreateToolServerBody,
  ToolServerListQuery,
  UpdateToolServerBody,
} from './tool-server.dto.js';
import { ServerTools } from './server-tools.js';
import { stateOf } from './tool-text.js';
import { ToolServerService } from './tool-server.service.js';
import {
  McpToolView,
  ServerToolView,
  ToolServerCheckView,
  ToolServerView,
} from './tool-server.view.js';

@ApiTags('tool servers')
@Controller('mcp/server')
export class ToolServerController {
  constructor(private readonly servers: ToolServerService) {}

  /** The tool servers that the caller may read, by name. */
  @Get('list')
  @RequirePermission('mcp:server:list')
  @AnswersPage(ToolServerView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: ToolServerListQuery,
  ): Promise<Page<ToolServerView>> {
    return this.servers.list(caller, query);
  }

  /** One tool server. */
  @Get(':id')
  @RequirePermission('mcp:server:query')
  @Answers(ToolServerView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<ToolServerView> {
    return this.servers.get(caller, id);
  }

  /** Creates a tool server, which its creator manages. It is not called: `check` does that. */
  @Post()
  @RequirePermission('mcp:server:add')
  @Answers(ToolServerView)
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateToolServerBody,
  ): Promise<ToolServerView> {
    return this.servers.create(caller, body);
  }

  /** Changes a tool server. */
  @Put()
  @RequirePermission('mcp:server:edit')
  @Answers(ToolServerView)
  update(
    @CurrentCaller() caller: Caller,
    @Body() body: UpdateToolServerBody,
  ): Promise<ToolServerView> {
    return this.servers.update(caller, body);
  }

  /** Deletes tool servers with their tools. */
  @Delete(':ids')
  @RequirePermission('mcp:server:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.servers.remove(caller, ids);
  }

  /** Connects to the server and lists its tools. New and changed ones are not called until they are accepted. */
  @Post(':id/check')
  @RequirePermission('mcp:server:edit')
  @Answers(ToolServerCheckView)
  check(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @WhileConnected() signal: AbortSignal,
  ): Promise<ToolServerCheckView> {
    return this.servers.check(caller, id, signal);
  }

  /** The tools of a server by name, at most 1,000, with the accepted and the listed text of each. */
  @Get(':id/tool')
  @RequirePermission('mcp:server:query')
  @AnswersArray(ServerToolView)
  tools(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
  ): Promise<ServerToolView[]> {
    return this.servers.tools(caller, id);
  }

  /** Accepts texts of tools, and changes when they are called. All changes are made, or none. */
  @Put(':id/tool')
  @RequirePermission('mcp:server:edit')
  @AnswersArray(ServerToolView)
  changeTools(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @Body() body: ChangeServerToolsBody,
  ): Promise<ServerToolView[]> {
    return this.servers.changeTools(caller, id, body.tools);
  }
}

@ApiTags('tool servers')
@Controller('mcp/tool')
export class McpToolController {
  constructor(private readonly tools: ServerTools) {}

  /** The accepted tools that the caller may bind to an agent, at most 10,000, by server and name. */
  @Get('all')
  @RequirePermission('agent:agent:list')
  @AnswersArray(McpToolView)
  async list(@CurrentCaller() caller: Caller): Promise<McpToolView[]> {
    const tools = await this.tools.selectable(caller);
    return tools.map((tool) =>
      McpToolView.of(tool, {
        name: `${tool.serverName}: ${tool.toolName}`,
        state: stateOf(tool),
      }),
    );
  }
}
