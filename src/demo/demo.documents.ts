/** What the demo's knowledge base holds: enough that a question has one right answer, and that two sound alike. */
export const demoDocuments: readonly { readonly name: string; readonly text: string }[] = [
  {
    name: 'travel-policy.md',
    text: `# Travel policy

## Booking

Trips of more than two days need the approval of the team lead before anything is booked. Trains are preferred to
flights for journeys of less than five hours.

## Hotels

Up to 140 euros a night are paid back without asking, 180 euros in London, Paris and Zurich. Breakfast is included.

## Expenses

Receipts are handed in within 30 days after the end of the trip. The daily allowance is 28 euros for a full day and 14
euros for the days of arrival and departure.
`,
  },
  {
    name: 'equipment.md',
    text: `# Equipment

## Laptops

Every laptop has a warranty of three years from the day of purchase. A broken one is replaced by the service desk within
two working days; call extension 4711.

## Returning equipment

Equipment is returned on the last working day. What is missing is charged at its book value.
`,
  },
  {
    name: '休假制度.md',
    text: `# 休假制度

## 年假

员工每年享有二十五天年假。未休完的年假可以保留到次年三月三十一日。

## 病假

病假超过三天需要提供医生证明。
`,
  },
];
