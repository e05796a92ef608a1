import { ApiProperty } from '@nestjs/swagger';

export class StopView {
  @ApiProperty({ description: 'False when no answer was being written' })
  stopped: boolean;
}
