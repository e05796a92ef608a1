import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Answers, IdPipe, WhileConnected } from '../../platform/http/index.js';
import { OfferedModelsService } from './offered-models.service.js';
import { OfferedModelsView } from './offered-models.view.js';

@ApiTags('providers')
@Controller('system/provider')
export class OfferedModelsController {
  constructor(private readonly offered: OfferedModelsService) {}

  /**
   * The models that the provider's service offers, with published windows and prices where the service does not say them. Asks the
   * service with the key of a model of the provider at the same scheme, host and port, or without one. A service that cannot be asked, or has no
   * list, is an empty list with a `reason`, within 15 seconds.
   */
  @Get(':id/models')
  @RequirePermission('system:provider:query')
  @Answers(OfferedModelsView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @WhileConnected() signal: AbortSignal,
  ): Promise<OfferedModelsView> {
    return this.offered.list(caller, id, signal);
  }
}
