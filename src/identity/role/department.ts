import { ApiProperty } from '@nestjs/swagger';
import { flag, integer, text, View } from '../../platform/http/index.js';

// This service has no departments. Existing consoles need one to list and save users, so every user is in this one.

export const DEPARTMENT_ID = 1;
export const DEPARTMENT_NAME = 'All users';

export class DepartmentView extends View({
  id: integer({ example: DEPARTMENT_ID }),
  parentId: integer({ example: 0 }),
  label: text({ example: DEPARTMENT_NAME }),
  weight: integer({ example: 0 }),
  disabled: flag({ example: false }),
}) {
  @ApiProperty({ type: () => [DepartmentView] })
  children: DepartmentView[];
}

/** The one department, as a tree. */
export function departmentTree(): DepartmentView[] {
  return [
    {
      id: DEPARTMENT_ID,
      parentId: 0,
      label: DEPARTMENT_NAME,
      weight: 0,
      disabled: false,
      children: [],
    },
  ];
}
