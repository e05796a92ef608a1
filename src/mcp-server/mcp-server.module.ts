import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { AgentQuestions } from './agent.question.js';
import { McpModule } from '../mcp/index.js';
import { GatewayTools } from './gateway.tools.js';
import { McpController } from './mcp.controller.js';
import { McpResources } from './mcp.resources.js';
import { McpServing } from './mcp.serving.js';
import { McpTools } from './mcp.tools.js';
import { RouteCalls } from './route.calls.js';

/** Routes, and the tools of tool servers, as tools of the Model Context Protocol. */
@Module({})
export class McpServerModule {
  /** @param compatibleApi The CompatibleApiModule of the application. */
  static for(compatibleApi: DynamicModule): DynamicModule {
    return {
      module: McpServerModule,
      imports: [DiscoveryModule, McpModule, compatibleApi],
      controllers: [McpController],
      providers: [AgentQuestions, GatewayTools, McpResources, McpServing, McpTools, RouteCalls],
      exports: [McpResources],
    };
  }
}
