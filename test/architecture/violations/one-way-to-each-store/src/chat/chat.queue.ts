import { getQueueToken } from '@nestjs/bull';

export const queue = getQueueToken('chat');
