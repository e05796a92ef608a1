import { Global, Module } from '@nestjs/common';
import { BodyBudget, BodyReader } from './body.reader.js';

/** What reads bodies, and the budget that all of them share. */
@Global()
@Module({ providers: [BodyBudget, BodyReader], exports: [BodyBudget, BodyReader] })
export class BodyModule {}
