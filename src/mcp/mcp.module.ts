import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditNames } from '../platform/audit/index.js';
import { GrantModule } from '../grant/index.js';
import { McpClients } from './mcp-client.js';
import { ServerConnections } from './server-connections.js';
import { ServerTools } from './server-tools.js';
import { McpToolController, ToolServerController } from './tool-server.controller.js';
import { ServerTool, ToolServer } from './tool-server.entity.js';
import { ToolServerRepository } from './tool-server.repository.js';
import { ToolServerService } from './tool-server.service.js';

/** MCP servers whose tools agents call. */
@Module({
  imports: [TypeOrmModule.forFeature([ToolServer, ServerTool]), GrantModule],
  controllers: [ToolServerController, McpToolController],
  providers: [McpClients, ServerConnections, ServerTools, ToolServerRepository, ToolServerService],
  exports: [ServerTools],
})
export class McpModule {
  constructor(names: AuditNames) {
    names.join('tool_server', ToolServer, 'name');
  }
}
