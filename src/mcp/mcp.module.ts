import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditNames } from '../platform/audit/index.js';
import { GrantModule } from '../grant/index.js';
import { ServerAccountController } from './account/account.controller.js';
import { ServerAccount } from './account/account.entity.js';
import { AccountFlows } from './account/account.flow.js';
import { ServerAccountRepository } from './account/account.repository.js';
import { ServerAccounts } from './account/accounts.js';
import { OAuthClients } from './account/oauth.client.js';
import { McpClients } from './mcp-client.js';
import { ServerConnections } from './server-connections.js';
import { ServerTools } from './server-tools.js';
import { McpToolController, ToolServerController } from './tool-server.controller.js';
import { ServerTool, ToolServer } from './tool-server.entity.js';
import { ToolServerRepository } from './tool-server.repository.js';
import { ToolServerService } from './tool-server.service.js';

/** MCP servers whose tools agents call. */
@Module({
  imports: [TypeOrmModule.forFeature([ToolServer, ServerTool, ServerAccount]), GrantModule],
  controllers: [ToolServerController, McpToolController, ServerAccountController],
  providers: [
    ...[McpClients, ServerConnections, ServerTools, ToolServerRepository, ToolServerService],
    ...[OAuthClients, ServerAccountRepository, ServerAccounts, AccountFlows],
  ],
  exports: [ServerTools],
})
export class McpModule {
  constructor(names: AuditNames) {
    names.join('tool_server', ToolServer, 'name');
  }
}
