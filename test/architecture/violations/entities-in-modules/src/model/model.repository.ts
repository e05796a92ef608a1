import { InjectRepository } from '@nestjs/typeorm';

export const injected = InjectRepository;
