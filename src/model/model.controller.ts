import { Body, Controller, Delete, Get, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, LoginOnly, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  answerInSteps,
  Answers,
  AnswersArray,
  AnswersArrayAndPage,
  AnswersInSteps,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  NoEnvelope,
  WithExport,
} from '../platform/http/index.js';
import type { Answer, Page } from '../platform/http/index.js';
import { DiagnosisView } from './diagnosis/diagnosis.view.js';
import { ModelDiagnosis } from './diagnosis/model.diagnosis.js';
import {
  BatchKeyBody,
  CreateModelBody,
  ModelEntriesQuery,
  ModelListQuery,
  ModelTestBody,
  UpdateModelBody,
} from './model.dto.js';
import { UpstreamHealth } from './calls/upstream.health.js';
import { ModelResolver } from './model.resolver.js';
import { ModelService } from './model.service.js';
import { PriceVersionView } from '../usage/index.js';
import {
  CooldownView,
  ModelEntryView,
  modelSheet,
  ModelView,
  ProviderOptionView,
} from './model.view.js';

@ApiTags('models')
@Controller('system/model')
export class ModelController {
  constructor(
    private readonly models: ModelService,
    private readonly diagnosis: ModelDiagnosis,
    private readonly resolver: ModelResolver,
    private readonly health: UpstreamHealth,
  ) {}

  /** The models that the caller may use, newest first; all for administrators of models. Keys are never part of it. */
  @Get('list')
  @RequirePermission('system:model:list')
  @AnswersPage(ModelView)
  @WithExport(modelSheet, RequirePermission('system:model:export'))
  list(@CurrentCaller() caller: Caller, @Query() query: ModelListQuery): Promise<Page<ModelView>> {
    return this.models.list(caller, query);
  }

  /** The models that can be used, the default one first, as `data` and as `rows` with `total`. */
  @Get('modelList')
  @RequirePermission('system:model:list', 'coding:harness:use')
  @AnswersArrayAndPage(ModelEntryView)
  options(
    @CurrentCaller() caller: Caller,
    @Query() query: ModelEntriesQuery,
  ): Promise<Answer<readonly ModelEntryView[]>> {
    return this.models.entries(caller, query);
  }

  /** The provider codes that have an adapter. */
  @Get('providerOptions')
  @LoginOnly({ apiKey: 'any' })
  @AnswersArray(ProviderOptionView)
  providerOptions(): ProviderOptionView[] {
    return this.models.providerCodes();
  }

  /** One model, without its key. */
  @Get(':id')
  @RequirePermission('system:model:query')
  @Answers(ModelView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<ModelView> {
    return this.models.get(caller, id);
  }

  /** The keys of a model that cool down at the moment, as the answering process knows it. */
  @Get(':id/cooldowns')
  @RequirePermission('system:model:query')
  @AnswersArray(CooldownView)
  async cooldowns(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
  ): Promise<CooldownView[]> {
    const cooldowns = this.health.cooldownsOf(await this.resolver.keysOf(caller, id));
    return cooldowns.map(({ milliseconds, ...one }) => {
      return CooldownView.of({ ...one, seconds: Math.ceil(milliseconds / 1_000) });
    });
  }

  /** The versions of a model's prices with their dates and sources, the latest first. Calls keep the version that they had. */
  @Get(':id/prices')
  @RequirePermission('system:model:query')
  @AnswersArray(PriceVersionView)
  prices(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
  ): Promise<PriceVersionView[]> {
    return this.models.priceVersions(caller, id);
  }

  /** Creates a model. Its service is not called. */
  @Post()
  @RequirePermission('system:model:add')
  @Answers(ModelView)
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateModelBody,
  ): Promise<Answer<ModelView>> {
    return this.models.create(caller, body);
  }

  /**
   * Changes a model; the next call uses what was saved. An empty apiKey keeps the stored one, and for another scheme, host or port
   * needs the permission system:model:credential.
   */
  @Put()
  @RequirePermission('system:model:edit')
  @Answers(ModelView)
  update(
    @CurrentCaller() caller: Caller,
    @Body() body: UpdateModelBody,
  ): Promise<Answer<ModelView>> {
    return this.models.update(caller, body);
  }

  /** Gives all models of one provider code the same key. */
  @Put('batchKeyByProvider')
  @RequirePermission('system:model:edit')
  @AnswersStatus()
  changeKeys(@CurrentCaller() caller: Caller, @Body() body: BatchKeyBody): Promise<Answer<null>> {
    return this.models.changeKeys(caller, body);
  }

  /** Deletes models for good. The message says how many knowledge bases and agents used them. */
  @Delete(':ids')
  @RequirePermission('system:model:remove')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('ids', IdsPipe) ids: number[],
  ): Promise<Answer<null>> {
    return this.models.remove(caller, ids);
  }

  /**
   * Calls the model and says what is wrong: `ok` false with a `fault` and advice, still with code 200. With
   * `Accept: text/event-stream` each step as it happens. A client that disconnects ends the test.
   */
  @Post(':id/test')
  @RequirePermission('system:model:test')
  @NoEnvelope()
  @AnswersInSteps(DiagnosisView, 'The diagnosis. As frames: start and step of each step, done')
  test(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @Body() body: ModelTestBody,
    @Res() response: Response,
  ): Promise<void> {
    return answerInSteps(response, (steps) => this.diagnosis.test(caller, id, body, steps));
  }
}
