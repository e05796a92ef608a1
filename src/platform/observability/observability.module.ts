import { Global, Module } from '@nestjs/common';
import { HealthRepository } from './health.repository.js';
import { HealthService } from './health.service.js';
import { DiagnosisRepository } from './diagnosis.repository.js';
import { DiskMetrics, Metrics } from './metrics.js';
import {
  GreetingController,
  HealthController,
  MetricsController,
} from './observability.controller.js';
import { Tracing } from './request-trace.js';
import { Shutdown } from './shutdown.js';
import { TraceContentRepository } from './trace-content.repository.js';

/** The operator's view of a running process: log, health, metrics and shutdown. */
@Global()
@Module({
  controllers: [GreetingController, HealthController, MetricsController],
  providers: [
    DiagnosisRepository,
    DiskMetrics,
    HealthRepository,
    HealthService,
    Metrics,
    Shutdown,
    TraceContentRepository,
    Tracing,
  ],
  exports: [HealthService, Metrics, Shutdown],
})
export class ObservabilityModule {}
